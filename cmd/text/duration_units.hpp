#pragma once

#include <cstdint>
#include <string_view>

namespace leafctl {

/// A unit in which durations are read and written.
struct DurationUnit {
  std::string_view suffix;
  std::int64_t milliseconds;
};

/// The smallest first.
inline constexpr DurationUnit duration_units[] = {
    {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};

}  // namespace leafctl
