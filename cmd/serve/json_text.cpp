#include "serve/json_text.hpp"

#include <fmt/format.h>

#include <iterator>

#include "leaf/detail/utf8.hpp"

namespace leafctl::serve {

void append_json(std::string_view text, std::string& out) {
  const bool has_foreign_bytes = !leaf::detail::is_utf8(text);
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < ' ' || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else if (byte >= 0x80 && has_foreign_bytes) {
      out += "\\ufffd";
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace leafctl::serve
