#pragma once

#include <chrono>
#include <cstdint>

#include "leaf/clock.hpp"
#include "leaf/layout.hpp"

namespace leaf::store {

inline std::int64_t unix_ms(UnixTime time) {
  return time.time_since_epoch().count();
}

inline UnixTime time_of(std::int64_t unix_ms) {
  return UnixTime(std::chrono::milliseconds(unix_ms));
}

/// What the host's clock shows.
inline UnixTime host_time(Clock& clock) {
  return std::chrono::floor<std::chrono::milliseconds>(clock.now());
}

}  // namespace leaf::store
