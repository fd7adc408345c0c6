#include "worker_request.hpp"

#include <fmt/format.h>

#include "leaf/error.hpp"

namespace leafctl {

leaf::WorkerRequest worker_request(const Settings& settings) {
  return {.owner = settings.worker_name,
          .worker = settings.worker_id.worker_for(settings.worker_name),
          .window = settings.window,
          .recycle_after = settings.recycle_after,
          .max_skew = settings.max_skew};
}

void require_expected_layout(const Settings& settings, const leaf::Layout& layout) {
  if (!settings.layout || *settings.layout == layout) return;
  throw leaf::Error(
      leaf::ErrorCode::usage,
      fmt::format("the store's layout is '{}', but this host expects '{}'", layout.name(),
                  settings.layout->name()),
      "name the right store or the right layout; 'leafctl show-config' tells where both come from");
}

}  // namespace leafctl
