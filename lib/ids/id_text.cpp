#include "leaf/id_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "text/hint.hpp"

namespace leaf {

namespace {

constexpr auto greatest = std::numeric_limits<std::int64_t>::max();

bool is_decimal(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// `text` in quotes for an error; of a long one only the beginning.
std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string shown(text.substr(0, longest));
  // what() of an error ends at a zero byte.
  for (std::size_t at = 0; (at = shown.find('\0', at)) != std::string::npos;) shown.replace(at, 1, "\\x00");
  return fmt::format("'{}{}'", shown, text.size() <= longest ? "" : "...");
}

Error error(std::string_view text, const std::string& why) {
  return Error(ErrorCode::usage, fmt::format("{} is not an ID{}", quoted(text), why),
               fmt::format("an ID is a decimal number from 0 to {}"_hint, greatest));
}

}  // namespace

Error id_error(std::string_view text, const Layout& layout) {
  if (text.empty()) return error(text, ": it is empty");
  if (text[0] == '-' && is_decimal(text.substr(1))) return error(text, ": it is negative");
  if (!is_decimal(text)) return error(text, "");
  if (text.size() > 1 && text[0] == '0') return error(text, ": it has zeros in front");
  std::int64_t id = 0;
  const auto [rest, result] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (result != std::errc{}) return error(text, fmt::format(": it is greater than {}", greatest));
  try {
    layout.decompose(id);
  } catch (const Error& refused) {
    return refused;
  }
  return error(text, "");
}

Error id_error(std::string_view text, const Layout& layout, IdTemplate& form) {
  std::string greatest_text;
  form.append(layout.last_id(layout.last_time()), layout.last_time(), greatest_text);
  return {
      ErrorCode::usage, fmt::format("{} is not an ID in the form '{}'", quoted(text), form.text()),
      fmt::format("the greatest ID of layout '{}' is '{}' in that form"_hint, layout.name(), greatest_text)};
}

}  // namespace leaf
