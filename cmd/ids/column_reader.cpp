#include "ids/column_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "leaf/error.hpp"
#include "text/hint.hpp"
#include "text/numbers.hpp"

namespace leafctl {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

leaf::Error usage(const std::string& what, const std::string& hint = {}) {
  return {leaf::ErrorCode::usage, what, hint};
}

DelimitedForm form_of(char separator) {
  return {.separator = separator, .has_quotes = separator != '\t'};
}

/// Any one character that is not in an ID in some form, nor ends a line.
char parse_separator(std::string_view text) {
  if (text == "tab" || text == "\\t") return '\t';
  const bool fits = text.size() == 1 && text[0] > '\0' && text[0] <= '~' && text[0] != '\n' &&
                    text[0] != '\r' && !is_digit(text[0]) && (text[0] < 'A' || text[0] > 'Z') &&
                    (text[0] < 'a' || text[0] > 'z') && text[0] != '"';
  if (fits) return text[0];
  throw usage(fmt::format("'--separator' takes one ASCII character, not '{}'", text),
              "choose one that is not a letter, digit or quote, such as , ; | or the word tab"_hint);
}

/// The separator in a first line: a tab, else a comma, else a semicolon, outside of quotes if there are any.
char separator_in(std::string_view line) {
  std::string bare;
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') is_quoted = !is_quoted;
    if (!is_quoted) bare += c;
  }
  for (const char separator : {'\t', ',', ';'}) {
    if (bare.find(separator) != std::string::npos) return separator;
  }
  return line.find('\t') != std::string_view::npos ? '\t' : ',';
}

std::string joined(const DelimitedRecord& fields) {
  std::string names;
  for (const DelimitedField& field : fields)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", *field.text);
  return names;
}

}  // namespace

ColumnReader::ColumnReader(const Options& options) : is_header_next_(options.has_header) {
  if (options.separator) form_ = form_of(parse_separator(*options.separator));
  if (!options.column.empty() && std::ranges::all_of(options.column, is_digit)) {
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    index_ = static_cast<std::size_t>(parse_integer("--column", options.column, {1, most}) - 1);
    return;
  }
  if (options.column.empty()) throw usage("'--column' takes a number from 1 or a name, not ''");
  name_ = options.column;
  is_header_next_ = true;
}

void ColumnReader::add(std::string_view lines) {
  text_.erase(0, std::exchange(begin_, 0));
  text_ += lines;
  if (lines.find('"') != std::string_view::npos || text_.size() > max_record) is_open_ = false;
}

std::optional<ColumnReader::Field> ColumnReader::next(bool is_last) {
  while (begin_ < text_.size()) {
    const std::string_view rest = std::string_view(text_).substr(begin_);
    if (is_open_ && !is_last) return std::nullopt;
    if (!form_) choose_form();
    const FirstRecord record = read_first_record(rest, *form_);
    is_open_ = record.is_open && !is_last && rest.size() <= max_record;
    if (is_open_) return std::nullopt;
    const std::size_t line = line_;
    if (!record.mistake.empty()) {
      // What the quote has swallowed may be good.
      consume(std::min(rest.find('\n'), rest.size() - 1) + 1);
      if (std::exchange(is_header_next_, false) && !name_.empty()) {
        throw usage(fmt::format("line {}, which names the columns, has {}", line, record.mistake));
      }
      return Field{line, {}, fmt::format("it has {}", record.mistake)};
    }
    consume(record.size);
    if (std::exchange(is_header_next_, false)) {
      if (!name_.empty()) find_column(record.fields);
    } else if (index_ >= record.fields.size()) {
      const std::size_t count = record.fields.size();
      return Field{
          line,
          {},
          fmt::format("it has {} field{}, and no column {}", count, count == 1 ? "" : "s", index_ + 1)};
    } else {
      return Field{line, *record.fields[index_].text, {}};
    }
  }
  if (is_last && is_header_next_ && !name_.empty())
    throw usage("the input has no line that names its columns");
  return std::nullopt;
}

void ColumnReader::choose_form() {
  const std::string_view rest = std::string_view(text_).substr(begin_);
  form_ = form_of(separator_in(rest.substr(0, rest.find('\n'))));
}

void ColumnReader::find_column(const DelimitedRecord& header) {
  const auto is_it = [this](const DelimitedField& field) { return field.text == name_; };
  const auto found = std::ranges::find_if(header, is_it);
  if (found == header.end()) {
    throw usage(
        fmt::format("no column is called '{}'", name_),
        header.size() == 1
            ? fmt::format("the first line is one column, {}: name the separator with '--separator'"_hint,
                          joined(header))
            : fmt::format("the first line names the columns {}"_hint, joined(header)));
  }
  if (std::find_if(found + 1, header.end(), is_it) != header.end()) {
    throw usage(fmt::format("more than one column is called '{}'", name_),
                "name the column by its number, with '--header'"_hint);
  }
  index_ = static_cast<std::size_t>(found - header.begin());
}

void ColumnReader::consume(std::size_t size) {
  const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(begin_);
  line_ += static_cast<std::size_t>(std::count(begin, begin + static_cast<std::ptrdiff_t>(size), '\n'));
  begin_ += size;
}

}  // namespace leafctl
