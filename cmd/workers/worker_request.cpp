#include "workers/worker_request.hpp"

#include <fmt/format.h>

namespace leafctl {

leaf::WorkerRequest worker_request(const Settings& settings) {
  return {.owner = settings.worker_name,
          .worker = settings.worker_id.worker_for(settings.worker_name),
          .window = settings.window,
          .recycle_after = settings.recycle_after,
          .max_skew = settings.max_skew,
          .max_backward = settings.max_backward,
          .layout = settings.layout};
}

std::string buffer_name(const std::string& owner, std::optional<std::int64_t> pinned) {
  return pinned ? fmt::format("{} {}", owner, *pinned) : owner;
}

}  // namespace leafctl
