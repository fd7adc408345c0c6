// Tables of delimited text: what is written is read back, and a column is the same however the text comes in.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "ids/column_reader.hpp"
#include "leaf/error.hpp"
#include "text/delimited_text.hpp"

namespace {

using leaf::fuzz::Choices;
using leaf::fuzz::require;
using leafctl::ColumnReader;
using leafctl::DelimitedForm;

using Record = std::vector<std::optional<std::string>>;

std::vector<Record> read(const std::string& text, const DelimitedForm& form) {
  std::vector<Record> all;
  std::size_t line = 0, column = 0;
  for (const auto& record : leafctl::read_delimited(text, form, "f")) {
    Record fields;
    for (const auto& field : record) {
      require(field.line > line || (field.line == line && field.column > column), "places ascend", text);
      line = field.line;
      column = field.column;
      fields.push_back(field.text);
    }
    all.push_back(fields);
  }
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  require(line <= lines + 1, "places are within the text", text);
  return all;
}

/// As `mysql -B` writes it.
std::string mysql_line(const Record& record) {
  std::string line;
  for (const auto& field : record) {
    if (&field != &record.front()) line += '\t';
    if (!field) line += "\\N";
    for (const char c : field.value_or("")) {
      switch (c) {
        case '\n':
          line += "\\n";
          break;
        case '\r':
          line += "\\r";
          break;
        case '\t':
          line += "\\t";
          break;
        case '\0':
          line += "\\0";
          break;
        case '\\':
          line += "\\\\";
          break;
        default:
          line += c;
      }
    }
  }
  return line + "\n";
}

void check_round_trips(Choices& choices) {
  std::vector<Record> records, table;
  std::string csv, tsv;
  for (std::size_t i = choices.below(4); i > 0; --i) {
    Record record;
    std::vector<std::string> fields;
    for (std::size_t k = 1 + choices.below(3); k > 0; --k) {
      fields.push_back(choices.text(10));
      record.emplace_back(fields.back());
    }
    csv += leafctl::csv_line(fields);
    if (fields.size() > 1 || !fields[0].empty()) records.push_back(record);
    if (choices.below(4) == 0) record.back().reset();
    // There it is the same as none.
    for (auto& field : record) {
      if (field == "NULL") field = "null";
    }
    tsv += mysql_line(record);
    if (record.size() > 1 || record[0] != "") table.push_back(record);
  }
  require(read(csv, {}) == records, "CSV that is written is read", csv);
  require(read(tsv, {.separator = '\t', .has_quotes = false, .is_mysql = true}) == table,
          "TSV of MySQL is read", tsv);
}

using Fields = std::vector<std::tuple<std::size_t, std::string, std::string>>;

/// What a column has, with the text in pieces of whole lines; none if the first line names no such column.
std::optional<Fields> column_of(const std::string& text, const ColumnReader::Options& options,
                                std::size_t lines_at_once) {
  Fields fields;
  try {
    ColumnReader reader(options);
    const auto take = [&](bool is_last) {
      while (const auto field = reader.next(is_last))
        fields.emplace_back(field->line, field->text, field->mistake);
    };
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = begin;
      for (std::size_t i = 0; i < lines_at_once && end < text.size(); ++i)
        end = std::min(text.find('\n', end), text.size() - 1) + 1;
      reader.add(std::string_view(text).substr(begin, end - begin));
      take(false);
      begin = end;
    }
    take(true);
  } catch (const leaf::Error& error) {
    require(error.code() == leaf::ErrorCode::usage, "what is wrong is a mistake of the user's", text);
    return std::nullopt;
  }
  return fields;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  check_round_trips(choices);
  ColumnReader::Options options{
      .column = choices.flag() ? std::to_string(1 + choices.below(3)) : choices.text(3),
      .has_header = choices.flag()};
  if (choices.flag()) options.separator = choices.text(2);
  const bool is_mysql = choices.flag();
  const std::string text(choices.rest());

  const auto whole = column_of(text, options, SIZE_MAX);
  for (const std::size_t lines : {1, 2, 3})
    require(column_of(text, options, lines) == whole, "a column is the same in any pieces", text);
  if (whole) {
    std::size_t line = 0;
    for (const auto& [number, field, mistake] : *whole) {
      require(number > line && (field.empty() || mistake.empty()),
              "lines ascend, and have a field or a mistake", text);
      line = number;
    }
  }
  try {
    read(text, {.separator = ',', .has_quotes = true, .is_mysql = is_mysql});
  } catch (const leaf::Error& error) {
    require(std::string(error.what()).starts_with("f:") && !error.hint().empty(), "a mistake has a place",
            text);
  }
  return 0;
}
