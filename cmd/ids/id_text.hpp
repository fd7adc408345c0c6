#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "leaf/error.hpp"
#include "leaf/layout.hpp"

namespace leafctl {

/// The snowflake ID that `text` is, in decimal and with nothing around it, if `layout` holds it.
inline std::optional<std::int64_t> parse_id(std::string_view text, const leaf::Layout& layout) noexcept {
  constexpr std::size_t most_digits = 19;
  std::int64_t id = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, id);
  if (error != std::errc{} || rest != end || text.size() > most_digits || !layout.holds(id))
    return std::nullopt;
  return id;
}

/// `text` in quotes for an error; of a long one only the beginning.
std::string quoted(std::string_view text);

/// Why parse_id() gave nothing; `usage`.
leaf::Error id_error(std::string_view text, const leaf::Layout& layout);

}  // namespace leafctl
