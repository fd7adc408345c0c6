#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "leaf/layout.hpp"
#include "terminal/output_file.hpp"

namespace leafctl {

enum class OutputFormat { text, json };

/// An ID: right-aligned in a table, a string in JSON, because it may pass 2^53.
struct Id {
  std::int64_t value;
};

/// How many of something there are: people see its digits in groups, such as 1,000,000.
struct Count {
  std::int64_t value;
};

/// A point in time that people see by its distance from `now`, such as "in 3m 20s".
struct TimeFromNow {
  leaf::UnixTime time;
  leaf::UnixTime now;
};

/// A text that may be long: where a table is wider than the terminal it stands below its record.
struct Remark {
  std::string text;
};

/// A number with a name that tells its unit, such as "seconds_left".
struct Measure {
  std::string_view name;
  std::variant<std::int64_t, double> value;
  friend bool operator==(const Measure&, const Measure&) = default;
};
using Measures = std::vector<Measure>;

/// One value of a record. Nothing is `-` in a table, empty in a tab-separated line, null in JSON; a list of
/// texts is an array in JSON and parted by commas elsewhere; measures are an object there, and "name=value".
/// A duration is a number of milliseconds, but a text such as "3m 20s" in a table; its key ends with `_ms`,
/// which a table leaves out.
using Cell = std::variant<std::monostate, std::int64_t, Id, Count, std::string, Remark, leaf::UnixTime,
                          TimeFromNow, std::chrono::milliseconds, std::vector<std::string>, Measures>;
using Row = std::vector<Cell>;
using Keys = std::span<const char* const>;

/// One column of the records made of a T, for text and JSON alike. `key` is a contract.
template <class T>
struct Column {
  const char* key;
  Cell (*cell)(const T&);
};

/// Standard output: records as an aligned table on a terminal, tab-separated lines in a pipe, or JSON lines.
/// Every call may throw as OutputFile::write() does.
class Output {
 public:
  /// `file` is borrowed. `color` paints the header of a table.
  Output(OutputFile& file, OutputFormat format, bool color) : file_(file), format_(format), color_(color) {}

  OutputFormat format() const noexcept { return format_; }
  bool is_terminal() const noexcept { return file_.is_terminal(); }
  std::size_t prose_width() const noexcept { return file_.prose_width(); }
  bool has_color() const noexcept { return color_; }

  /// One line for each record; on a terminal below a header.
  template <class T, std::size_t n, class Records>
  void print_list(const Column<T> (&columns)[n], const Records& records) {
    std::vector<Row> rows;
    rows.reserve(std::size(records));
    for (const T& record : records) rows.push_back(cells(columns, record));
    print_list(keys(columns), rows);
  }

  /// One record: a line for each column on a terminal, else like a list of one.
  template <class T, std::size_t n>
  void print_one(const Column<T> (&columns)[n], const T& record) {
    print_one(keys(columns), cells(columns, record));
  }

  /// The same for records whose keys are only known at run time.
  void print_list(Keys keys, const std::vector<Row>& rows);
  void print_one(Keys keys, const Row& row);

  /// `text` as it is; it ends with a newline.
  void print_text(std::string_view text) { buffer_ += text; }

  /// The file itself, for bulk data, with all that was printed before already in it.
  OutputFile& flushed_file() {
    flush();
    return file_;
  }

  /// Writes what was printed so far.
  void flush();

  /// Writes what is left and closes; the last call.
  void finish() {
    flush();
    file_.close();
  }

 private:
  template <class T, std::size_t n>
  static std::vector<const char*> keys(const Column<T> (&columns)[n]) {
    std::vector<const char*> result;
    for (const Column<T>& column : columns) result.push_back(column.key);
    return result;
  }
  template <class T, std::size_t n>
  static Row cells(const Column<T> (&columns)[n], const T& record) {
    Row result;
    for (const Column<T>& column : columns) result.push_back(column.cell(record));
    return result;
  }

  OutputFile& file_;
  OutputFormat format_;
  bool color_;
  std::string buffer_;
};

}  // namespace leafctl
