#include "text/display_width.hpp"

#include <utf8proc.h>

#include <algorithm>

namespace leafctl {

namespace {

struct Letter {
  std::size_t size;   ///< in bytes
  std::size_t width;  ///< in columns
};

/// Of the first one of `text`, which is not empty.
Letter first_letter(std::string_view text) {
  utf8proc_int32_t code_point = 0;
  const utf8proc_ssize_t size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                 static_cast<utf8proc_ssize_t>(text.size()), &code_point);
  if (size <= 0) return {1, 1};
  return {static_cast<std::size_t>(size),
          static_cast<std::size_t>(std::max(utf8proc_charwidth(code_point), 0))};
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    width += letter.width;
    text.remove_prefix(letter.size);
  }
  return width;
}

std::size_t size_within(std::string_view text, std::size_t width) {
  std::size_t size = 0;
  std::size_t used = 0;
  while (size < text.size()) {
    const Letter letter = first_letter(text.substr(size));
    used += letter.width;
    if (used > width && size > 0) break;
    size += letter.size;
  }
  return size;
}

}  // namespace leafctl
