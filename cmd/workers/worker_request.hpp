#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "leaf/worker.hpp"
#include "settings/settings.hpp"

namespace leafctl {

/// What a store is asked for where a worker is wanted.
leaf::WorkerRequest worker_request(const Settings& settings);

/// What the library names the host's buffer of a worker: one that is `pinned` has its own.
std::string buffer_name(const std::string& owner, std::optional<std::int64_t> pinned);

}  // namespace leafctl
