// Any text for a number, a size or a duration, beside a reading of it in twice the width.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "fuzz/fuzz.hpp"
#include "leaf/error.hpp"
#include "text/numbers.hpp"

namespace {

using leaf::fuzz::Choices;
using leaf::fuzz::require;
using leaf::fuzz::Wide;

std::optional<Wide> digits(std::string text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.erase(0, 1);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  Wide value = 0;
  // No bounds go beyond 64 bits.
  for (const char c : text) value = std::min<Wide>(value * 10 + (c - '0'), Wide{1} << 70);
  return is_negative ? -value : value;
}

/// A number and its unit: {"K", 1024} and the like.
template <std::size_t size>
std::optional<Wide> united(const std::string& text,
                           const std::pair<const char*, std::int64_t> (&units)[size]) {
  const auto end = std::min(text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0), text.size());
  for (const auto& [unit, factor] : units) {
    if (const auto number = digits(text.substr(0, end)); number && text.substr(end) == unit)
      return *number * factor;
  }
  return std::nullopt;
}

/// Nothing is as much in any unit.
std::optional<Wide> duration_of(const std::string& text) {
  if (text.starts_with('-')) return std::nullopt;
  if (digits(text) == 0) return Wide{0};
  return united(text, {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}});
}

template <class Parse>
std::optional<std::int64_t> parsed(Parse parse, const std::string& text) {
  try {
    return parse();
  } catch (const leaf::Error& error) {
    require(
        error.code() == leaf::ErrorCode::usage && std::string(error.what()).find("-n") != std::string::npos,
        "a refusal names the option", text);
    return std::nullopt;
  }
}

void require_same(std::optional<std::int64_t> found, std::optional<Wide> wanted,
                  leafctl::IntegerBounds bounds, const std::string& text) {
  if (wanted && (*wanted < bounds.lowest || *wanted > bounds.highest)) wanted.reset();
  require(found.has_value() == wanted.has_value() && (!found || *found == *wanted),
          "a text is the number it says", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  leafctl::IntegerBounds bounds{choices.number(), choices.number()};
  if (bounds.lowest > bounds.highest) std::swap(bounds.lowest, bounds.highest);
  const std::string text(choices.rest());
  require_same(parsed([&] { return leafctl::parse_integer("-n", text, bounds); }, text), digits(text), bounds,
               text);

  const leafctl::IntegerBounds positive{std::max<std::int64_t>(bounds.lowest, 0),
                                        std::max<std::int64_t>(bounds.highest, 0)};
  constexpr std::int64_t k = 1024;
  const auto bytes = parsed([&] { return leafctl::parse_size("-n", text, positive); }, text);
  require_same(bytes, united(text, {{"", 1}, {"K", k}, {"M", k * k}, {"G", k * k * k}, {"T", k * k * k * k}}),
               positive, text);
  if (bytes)
    require(leafctl::parse_size("-n", leafctl::format_size(*bytes), positive) == *bytes,
            "a size that is written is read", text);

  // Durations that a clock can count.
  constexpr std::int64_t most = std::int64_t{1} << 52;
  const leafctl::IntegerBounds times{std::min(positive.lowest, most), std::min(positive.highest, most)};
  const std::chrono::milliseconds shortest(times.lowest), longest(times.highest);
  const auto duration = parsed(
      [&] {
        return leafctl::parse_duration("-n", text, {shortest, longest}).count();
      },
      text);
  require_same(duration, duration_of(text), times, text);
  if (duration) {
    const std::string written = leafctl::format_duration(std::chrono::milliseconds(*duration));
    require(leafctl::parse_duration("-n", written, {shortest, longest}).count() == *duration,
            "a duration that is written is read", text);
  }
  return 0;
}
