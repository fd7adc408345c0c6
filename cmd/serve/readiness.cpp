#include "serve/readiness.hpp"

#include <fmt/format.h>

#include <string>

#include "leaf/error.hpp"

namespace leafctl::serve {

void require_writable(const leaf::StoreHealth& health, bool has_failed) {
  std::string why;
  if (health.is_standby || health.is_read_only) {
    why = "accepts no writes";
  } else if (health.commits_wait) {
    why = "waits for a synchronous standby at each commit";
  } else if (has_failed && !health.missing_rights.empty()) {
    why = fmt::format("does not allow {}", health.missing_rights.front());
  }
  if (!why.empty()) throw leaf::Error(leaf::ErrorCode::unavailable, fmt::format("the store {}", why));
}

}  // namespace leafctl::serve
