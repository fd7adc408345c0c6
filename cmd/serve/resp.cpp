#include "serve/resp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace leafctl::serve {

namespace {

constexpr std::string_view line_end = "\r\n";
/// Of a number, with its sign.
constexpr std::size_t max_number = 20;

char upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// The line that begins at `from`, without its end; none if it has not ended yet.
std::optional<std::string_view> line_at(std::string_view input, std::size_t from) {
  const std::size_t end = input.find(line_end, from);
  if (end == std::string_view::npos) return std::nullopt;
  return input.substr(from, end - from);
}

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string_view without_quotes(std::string_view word) {
  const bool is_quoted =
      word.size() > 1 && word.front() == word.back() && (word.front() == '"' || word.front() == '\'');
  return is_quoted ? word.substr(1, word.size() - 2) : word;
}

void append_number(char kind, std::int64_t value, std::string& out) {
  const fmt::format_int digits(value);
  out += kind;
  out.append(digits.data(), digits.size());
  out += line_end;
}

}  // namespace

RespCommand::Parsed RespCommand::parse(std::string_view input) {
  count_ = 0;
  size_ = 0;
  if (input.empty()) return Parsed::incomplete;
  return input.front() == '*' ? parse_array(input) : parse_inline(input);
}

RespCommand::Parsed RespCommand::wrong(std::string_view mistake) {
  mistake_ = mistake;
  return Parsed::wrong;
}

RespCommand::Parsed RespCommand::parse_array(std::string_view input) {
  const auto head = line_at(input, 1);
  if (!head) return input.size() > max_number + 3 ? wrong("too big mbulk count string") : Parsed::incomplete;
  const auto count = parse_resp_integer(*head);
  if (!count || *count > static_cast<std::int64_t>(max_words)) return wrong("invalid multibulk length");
  std::size_t at = 1 + head->size() + line_end.size();
  for (std::int64_t i = 0; i < *count; ++i) {
    if (at >= input.size()) return Parsed::incomplete;
    if (input[at] != '$') return wrong(fmt::format("expected '$', got '{}'", input[at]));
    const auto length_text = line_at(input, at + 1);
    if (!length_text)
      return input.size() - at > max_number + 3 ? wrong("too big bulk count string") : Parsed::incomplete;
    const auto length = parse_resp_integer(*length_text);
    if (!length || *length < 0 || *length > static_cast<std::int64_t>(max_word))
      return wrong("invalid bulk length");
    at += 1 + length_text->size() + line_end.size();
    const auto size = static_cast<std::size_t>(*length);
    if (at + size + line_end.size() > max_size) return wrong("too big a command");
    if (at + size + line_end.size() > input.size()) return Parsed::incomplete;
    if (input.substr(at + size, line_end.size()) != line_end) return wrong("a bulk is longer than it says");
    words_[count_++] = input.substr(at, size);
    at += size + line_end.size();
  }
  size_ = at;
  return count_ == 0 ? Parsed::empty : Parsed::complete;
}

RespCommand::Parsed RespCommand::parse_inline(std::string_view input) {
  // What no person types, such as the greeting of TLS.
  const auto first = static_cast<unsigned char>(input.front());
  if (first < ' ' && !is_blank(input.front()) && first != '\n') return wrong("unknown protocol");
  const std::size_t end = input.find('\n');
  if (end == std::string_view::npos)
    return input.size() > max_word ? wrong("too big inline request") : Parsed::incomplete;
  if (end > max_word) return wrong("too big inline request");
  std::string_view line = input.substr(0, end);
  size_ = end + 1;
  while (!line.empty()) {
    if (is_blank(line.front())) {
      line.remove_prefix(1);
      continue;
    }
    const auto word_end = std::find_if(line.begin(), line.end(), is_blank);
    const auto length = static_cast<std::size_t>(word_end - line.begin());
    const std::string_view word = without_quotes(line.substr(0, length));
    if (word.find_first_of("\"'") != std::string_view::npos)
      return wrong("quotes are only taken around a whole word");
    if (count_ == max_words) return wrong("invalid multibulk length");
    words_[count_++] = word;
    line.remove_prefix(length);
  }
  return count_ == 0 ? Parsed::empty : Parsed::complete;
}

std::optional<std::int64_t> parse_resp_integer(std::string_view text) noexcept {
  if (text.empty() || text.size() > max_number) return std::nullopt;
  const bool is_negative = text.front() == '-';
  const std::string_view digits = text.substr(is_negative ? 1 : 0);
  if (digits.empty() || (digits.front() == '0' && (digits.size() > 1 || is_negative))) return std::nullopt;
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

bool is_command(std::string_view word, std::string_view name) noexcept {
  return word.size() == name.size() &&
         std::equal(word.begin(), word.end(), name.begin(), [](char a, char b) { return upper(a) == b; });
}

void append_resp_integer(std::int64_t value, std::string& out) {
  append_number(':', value, out);
}

void append_resp_bulk(std::string_view text, std::string& out) {
  append_number('$', static_cast<std::int64_t>(text.size()), out);
  out += text;
  out += line_end;
}

void append_resp_status(std::string_view text, std::string& out) {
  out += '+';
  out += text;
  out += line_end;
}

void append_resp_error(std::string_view kind, std::string_view text, std::string& out) {
  out += '-';
  out += kind;
  out += ' ';
  for (const char c : text) out += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  out += line_end;
}

void append_resp_array(std::size_t size, std::string& out) {
  append_number('*', static_cast<std::int64_t>(size), out);
}

void append_resp_map(std::size_t size, int protocol, std::string& out) {
  append_number(protocol == 3 ? '%' : '*', static_cast<std::int64_t>(protocol == 3 ? size : 2 * size), out);
}

void append_resp_null(int protocol, std::string& out) {
  out += protocol == 3 ? "_\r\n" : "$-1\r\n";
}

}  // namespace leafctl::serve
