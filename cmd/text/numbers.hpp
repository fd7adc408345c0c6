#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace leafctl {

struct IntegerBounds {
  std::int64_t lowest;
  std::int64_t highest;
};

/// The numbers that a worker can have in any layout.
inline constexpr IntegerBounds worker_bounds{0, std::numeric_limits<std::int32_t>::max()};

/// A decimal integer and nothing else: no sign but `-`, no blank, no base, no exponent.
/// Throws leaf::Error (usage) that says what `name`, an option or key, takes.
std::int64_t parse_integer(std::string_view name, std::string_view text, IntegerBounds bounds);

/// A whole number of bytes, or of K, M, G or T of them (1024 each time): `64K`, `2G`. Throws as
/// parse_integer() does.
std::int64_t parse_size(std::string_view name, std::string_view text, IntegerBounds bounds);

/// The shortest text that parse_size() reads as `bytes`.
std::string format_size(std::int64_t bytes);

struct DurationBounds {
  std::chrono::milliseconds shortest;
  std::chrono::milliseconds longest;
};

/// A whole number with its unit: `250ms`, `5s`, `10m`, `1h`, `1d`; or `0`. Throws as parse_integer() does.
std::chrono::milliseconds parse_duration(std::string_view name, std::string_view text, DurationBounds bounds);

/// The shortest text in at most hours that parse_duration() reads as `duration`.
std::string format_duration(std::chrono::milliseconds duration);

}  // namespace leafctl
