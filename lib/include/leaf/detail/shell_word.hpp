#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace leaf::detail {

/// Not a part of the interface: shared by the library and its command-line program.
/// `text` as one word of a command for a shell, in double quotes where need be: hints are in single ones.
inline std::string shell_word(std::string_view text) {
  const auto is_plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80 ||
           std::string_view("_@%+=:,./-").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string word = "\"";
  for (const char c : text) {
    if (std::string_view("\"\\$`").find(c) != std::string_view::npos) word += '\\';
    word += c;
  }
  return word + '"';
}

}  // namespace leaf::detail
