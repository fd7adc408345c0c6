#pragma once

#include <string>
#include <string_view>

namespace leafctl {

// What ANSI terminals call them.
inline constexpr std::string_view bold = "1";
inline constexpr std::string_view red = "31";
inline constexpr std::string_view green = "32";
inline constexpr std::string_view yellow = "33";
inline constexpr std::string_view cyan = "36";
inline constexpr std::string_view bold_red = "1;31";
inline constexpr std::string_view bold_yellow = "1;33";

/// `text` in that colour, if there are to be any.
inline std::string paint(std::string_view color, std::string_view text, bool with_colors) {
  if (!with_colors) return std::string(text);
  return std::string("\033[").append(color).append("m").append(text).append("\033[0m");
}

}  // namespace leafctl
