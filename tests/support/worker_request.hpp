#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "leaf/worker.hpp"

namespace leaf::test {

/// What `owner` asks for: any worker, or the one that is named.
inline WorkerRequest request_of(const std::string& owner, std::optional<std::int64_t> worker = {}) {
  WorkerRequest request;
  request.owner = owner;
  request.worker = worker;
  return request;
}

}  // namespace leaf::test
