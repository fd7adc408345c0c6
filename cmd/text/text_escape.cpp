#include "text/text_escape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "leaf/detail/utf8.hpp"

namespace leafctl {

namespace {

using leaf::detail::utf8_length;

unsigned char byte(char c) {
  return static_cast<unsigned char>(c);
}
bool continues(unsigned char b) {
  return (b & 0xC0U) == 0x80U;
}

bool is_c1(std::string_view sequence) {
  return sequence.size() == 2 && byte(sequence[0]) == 0xC2 && byte(sequence[1]) < 0xA0;
}

/// What turns the direction of the text behind it, or ends its line for some: U+061C, U+200E, U+200F, U+2028
/// to U+202E, U+2066 to U+2069.
bool turns_text(std::string_view sequence) {
  if (sequence == "\xD8\x9C") return true;
  if (sequence.size() != 3 || byte(sequence[0]) != 0xE2) return false;
  const unsigned char last = byte(sequence[2]);
  if (byte(sequence[1]) == 0x81) return last >= 0xA6 && last <= 0xA9;
  return byte(sequence[1]) == 0x80 && (last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE));
}

/// The number of a character of at most three bytes.
unsigned code_point(std::string_view sequence) {
  const unsigned lead = byte(sequence[0]);
  unsigned code = sequence.size() == 1 ? lead : lead & (sequence.size() == 2 ? 0x1FU : 0x0FU);
  for (const char c : sequence.substr(1)) code = code << 6 | (byte(c) & 0x3FU);
  return code;
}

void append_hex(std::string& out, std::string_view bytes) {
  for (const char c : bytes) fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte(c));
}

}  // namespace

std::string escape_for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view sequence = text.substr(0, length == 0 ? 1 : length);
    const unsigned char first = byte(sequence[0]);
    if (first == '\n') {
      out += "\\n";
    } else if (first == '\t') {
      out += "\\t";
    } else if (length == 0 || first < 0x20 || first == 0x7F || is_c1(sequence) || turns_text(sequence)) {
      append_hex(out, sequence);
    } else {
      out += sequence;
    }
    text.remove_prefix(sequence.size());
  }
  return out;
}

std::string escape_for_tsv(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_controls_in_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::string_view sequence = json.substr(0, std::max<std::size_t>(utf8_length(json), 1));
    if (byte(json[0]) == 0x7F || is_c1(sequence) || turns_text(sequence)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", code_point(sequence));
    } else {
      out += sequence;
    }
    json.remove_prefix(sequence.size());
  }
  return out;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) {
    if (!continues(byte(c))) ++count;
  }
  return count;
}

}  // namespace leafctl
