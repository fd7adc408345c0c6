#include "ids/id_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "text/hint.hpp"

namespace leafctl {

namespace {

constexpr auto greatest = std::numeric_limits<std::int64_t>::max();

bool is_decimal(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

leaf::Error error(std::string_view text, const std::string& why) {
  return leaf::Error(leaf::ErrorCode::usage, fmt::format("{} is not an ID{}", quoted(text), why),
                     fmt::format("an ID is a decimal number from 0 to {}"_hint, greatest));
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string shown(text.substr(0, longest));
  // what() of an error ends at a zero byte.
  for (std::size_t at = 0; (at = shown.find('\0', at)) != std::string::npos;) shown.replace(at, 1, "\\x00");
  return fmt::format("'{}{}'", shown, text.size() <= longest ? "" : "...");
}

leaf::Error id_error(std::string_view text, const leaf::Layout& layout) {
  if (text.empty()) return error(text, ": it is empty");
  if (text[0] == '-' && is_decimal(text.substr(1))) return error(text, ": it is negative");
  if (!is_decimal(text)) return error(text, "");
  std::int64_t id = 0;
  const auto [rest, result] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (result != std::errc{}) return error(text, fmt::format(": it is greater than {}", greatest));
  try {
    layout.decompose(id);
  } catch (const leaf::Error& refused) {
    return refused;
  }
  return error(text, ": it has too many digits");
}

}  // namespace leafctl
