#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "text/delimited_text.hpp"

namespace leafctl {

/// One field of each record of delimited text, as the text comes in: comma-separated values (RFC 4180), or
/// tab-separated ones, in which quotes mean nothing. What is wrong with a record does not end the reading.
class ColumnReader {
 public:
  struct Options {
    std::string column;                      ///< a number from 1, or a name in the first record
    std::optional<std::string> separator{};  ///< absent: told by the first line
    bool has_header = false;                 ///< the first record is no data even if `column` is a number
  };

  /// What a record has in the column.
  struct Field {
    std::size_t line;  ///< where the record begins, from 1
    std::string text;
    std::string mistake;  ///< why there is no text; else empty
  };

  /// Throws leaf::Error (usage) that names the option, `--column` or `--separator`.
  explicit ColumnReader(const Options& options);

  /// Takes whole lines; the last ones may lack the newline.
  void add(std::string_view lines);

  /// The field of the next record; nothing if it needs more text. With `is_last` no more text belongs to what
  /// was added. Throws leaf::Error (usage) if the first record names no such column.
  std::optional<Field> next(bool is_last);

  /// A line that is not there, because it is too long.
  Field skip_line(std::string_view mistake) { return {line_++, {}, std::string(mistake)}; }

  /// A record that is longer is told by a quote that does not end.
  static constexpr std::size_t max_record = 1024UL * 1024;

 private:
  void choose_form();
  void find_column(const DelimitedRecord& header);
  void consume(std::size_t size);

  std::string name_;       ///< of the column; empty if it has a number
  std::size_t index_ = 0;  ///< of the column, from 0
  bool is_header_next_;
  std::optional<DelimitedForm> form_;

  std::string text_;
  std::size_t begin_ = 0;  ///< of what was not returned yet
  std::size_t line_ = 1;   ///< at begin_
  bool is_open_ = false;   ///< the record at begin_ needs another quote to end
};

}  // namespace leafctl
