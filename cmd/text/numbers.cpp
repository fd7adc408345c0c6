#include "text/numbers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <span>

#include "leaf/error.hpp"
#include "text/duration_units.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

using std::chrono::milliseconds;

// Hours are as far as a text goes: 24h is easier to compare with 36h than 1d.
constexpr std::span<const DurationUnit> written_units = std::span(duration_units).first(4);

std::optional<std::int64_t> decimal(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

std::optional<milliseconds> duration(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  // Nothing is as much in any unit.
  if (digits == std::string_view::npos)
    return decimal(text) == 0 ? std::optional(milliseconds{}) : std::nullopt;
  const auto count = decimal(text.substr(0, digits));
  if (!count) return std::nullopt;
  for (const DurationUnit& unit : duration_units) {
    std::int64_t result = 0;
    if (text.substr(digits) != unit.suffix) continue;
    if (__builtin_mul_overflow(*count, unit.milliseconds, &result)) return std::nullopt;
    return milliseconds(result);
  }
  return std::nullopt;
}

constexpr std::string_view size_units = "KMGT";

std::optional<std::int64_t> size(std::string_view text) {
  const auto unit = text.empty() ? size_units.npos : size_units.find(text.back());
  std::int64_t factor = 1;
  if (unit != size_units.npos) {
    factor <<= 10 * (unit + 1);
    text.remove_suffix(1);
  }
  const auto count = decimal(text);
  std::int64_t result = 0;
  if (!count || __builtin_mul_overflow(*count, factor, &result)) return std::nullopt;
  return result;
}

}  // namespace

std::int64_t parse_integer(std::string_view name, std::string_view text, IntegerBounds bounds) {
  const auto value = decimal(text);
  if (value && *value >= bounds.lowest && *value <= bounds.highest) return *value;
  throw leaf::Error(leaf::ErrorCode::usage, fmt::format("'{}' takes a number from {} to {}, not '{}'", name,
                                                        bounds.lowest, bounds.highest, text));
}

std::int64_t parse_size(std::string_view name, std::string_view text, IntegerBounds bounds) {
  const auto value = size(text);
  if (value && *value >= bounds.lowest && *value <= bounds.highest) return *value;
  throw leaf::Error(leaf::ErrorCode::usage,
                    fmt::format("'{}' takes a size from {} to {}, not '{}'", name, format_size(bounds.lowest),
                                format_size(bounds.highest), text));
}

std::string format_size(std::int64_t bytes) {
  std::size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && unit < size_units.size(); ++unit) bytes /= 1024;
  return std::to_string(bytes) + (unit == 0 ? "" : std::string(1, size_units[unit - 1]));
}

milliseconds parse_duration(std::string_view name, std::string_view text, DurationBounds bounds) {
  const auto value = duration(text);
  if (value && *value >= bounds.shortest && *value <= bounds.longest) return *value;
  throw leaf::Error(leaf::ErrorCode::usage,
                    fmt::format("'{}' takes a duration from {} to {}, not '{}'", name,
                                format_duration(bounds.shortest), format_duration(bounds.longest), text),
                    "write a whole number and its unit, such as 250ms, 5s, 10m, 1h or 1d"_hint);
}

std::string format_duration(milliseconds duration) {
  const DurationUnit* largest = &duration_units[0];
  for (const DurationUnit& unit : written_units) {
    if (duration.count() != 0 && duration.count() % unit.milliseconds == 0) largest = &unit;
  }
  return fmt::format("{}{}", duration.count() / largest->milliseconds, largest->suffix);
}

}  // namespace leafctl
