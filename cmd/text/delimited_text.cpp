#include "text/delimited_text.hpp"

#include <fmt/format.h>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

/// The character that `\c` stands for in MySQL; a backslash itself before anything else.
std::optional<char> unescaped(char c) {
  switch (c) {
    case '0':
      return '\0';
    case 'b':
      return '\b';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'Z':
      return '\x1A';
    case '\\':
    case '"':
    case '\'':
    case ',':
    case '\n':
    case '\t':
      return c;
    default:
      return std::nullopt;
  }
}

// Standard readers know neither MySQL's escapes nor the place of a field.
class Reader {
 public:
  Reader(std::string_view text, const DelimitedForm& form) : rest_(text), form_(form) {}

  /// Where what is wrong begins; the record in hand and what follows it are not to be used.
  struct Mistake {
    std::size_t line;
    std::size_t column;
    std::string_view what;
    bool is_open;  ///< at the end of the text
  };

  bool at_end_of_text() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }
  const std::optional<Mistake>& mistake() const { return mistake_; }

  DelimitedRecord record() {
    DelimitedRecord fields;
    while (true) {
      fields.push_back(field());
      if (mistake_ || rest_.empty() || skip_line_end()) return fields;
      take();  // the separator
    }
  }

  bool skip_line_end() {
    if (!rest_.starts_with('\n') && !rest_.starts_with("\r\n")) return false;
    if (take() == '\r') take();
    return true;
  }

 private:
  DelimitedField field() {
    DelimitedField field{std::string(), line_, column_};
    if (form_.has_quotes && rest_.starts_with('"')) {
      read_quoted(field);
      return field;
    }
    const bool is_null = form_.is_mysql && (at_whole("\\N") || at_whole("NULL"));
    while (!at_end()) *field.text += character();
    if (is_null) field.text.reset();
    return field;
  }

  void read_quoted(DelimitedField& field) {
    take();
    while (true) {
      if (rest_.empty()) {
        mistake_ = {field.line, field.column, "a quote that is not closed", true};
        return;
      }
      if (rest_[0] != '"') {
        *field.text += character();
        continue;
      }
      take();
      if (!rest_.starts_with('"')) break;
      *field.text += take();
    }
    if (!at_end()) mistake_ = {line_, column_, "text after a closing quote", false};
  }

  /// The next character of a field, an escape counting as the one that it stands for.
  char character() {
    const char c = take();
    if (c != '\\' || !form_.is_mysql || rest_.empty()) return c;
    const auto meant = unescaped(rest_[0]);
    if (meant) take();
    return meant.value_or(c);
  }

  /// At a field that is just `word`.
  bool at_whole(std::string_view word) const {
    return rest_.starts_with(word) && is_end(rest_.substr(word.size()));
  }

  bool at_end() const { return is_end(rest_); }

  /// Whether a field ends before `rest`.
  bool is_end(std::string_view rest) const {
    return rest.empty() || rest[0] == form_.separator || rest[0] == '\n' || rest.starts_with("\r\n");
  }

  char take() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    if (c == '\n') {
      ++line_;
      column_ = 1;
    } else if ((c & 0xC0) != 0x80) {
      ++column_;
    }
    return c;
  }

  std::string_view rest_;
  const DelimitedForm& form_;
  std::size_t line_ = 1;
  std::size_t column_ = 1;
  std::optional<Mistake> mistake_;
};

}  // namespace

std::vector<DelimitedRecord> read_delimited(std::string_view text, const DelimitedForm& form,
                                            const std::string& name) {
  std::vector<DelimitedRecord> all;
  Reader reader(text, form);
  while (!reader.at_end_of_text()) {
    if (reader.skip_line_end()) continue;
    all.push_back(reader.record());
    if (const auto& mistake = reader.mistake()) {
      throw leaf::Error(leaf::ErrorCode::usage,
                        fmt::format("{}:{}:{}: {}", name, mistake->line, mistake->column, mistake->what),
                        "a quote within quotes is written twice"_hint);
    }
  }
  return all;
}

FirstRecord read_first_record(std::string_view text, const DelimitedForm& form) {
  Reader reader(text, form);
  FirstRecord first;
  first.fields = reader.record();
  first.size = text.size() - reader.left();
  if (const auto& mistake = reader.mistake()) {
    first.is_open = mistake->is_open;
    first.mistake = mistake->what;
  }
  return first;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) line += ',';
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      line += field;
      continue;
    }
    line += '"';
    for (const char c : field) line += c == '"' ? "\"\"" : std::string(1, c);
    line += '"';
  }
  return line + '\n';
}

}  // namespace leafctl
