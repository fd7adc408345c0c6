#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ids/column_reader.hpp"
#include "leaf/id_form.hpp"
#include "leaf/layout.hpp"
#include "terminal/messages.hpp"

namespace leafctl {

/// Reads IDs out of text, many at a time, and counts what in it holds none.
class IdInput {
 public:
  using Take = std::function<void(std::span<const std::int64_t>)>;
  /// Whole lines, as LineReader::next_lines() returns them.
  using NextLines = std::function<std::string_view()>;

  struct Options {
    /// What IDs are written in; absent: decimal.
    std::optional<leaf::IdTemplate> form{};
    /// What the form is read by.
    leaf::Layout layout;
    const char* line = "line";  ///< what errors call one
  };

  /// `take` gets what was read; `messages` is borrowed and told of the first mistakes, each by its line.
  IdInput(Options options, Take take, Messages& messages);

  /// An ID a line, to the end.
  void read_lines(const NextLines& next_lines);
  /// An ID in a column of each record. Throws as ColumnReader does.
  void read_column(const NextLines& next_lines, const ColumnReader::Options& column);

  std::uint64_t count() const noexcept { return count_; }
  /// Lines that hold no ID.
  std::uint64_t bad() const noexcept { return bad_; }

  /// How many of those are reported.
  static constexpr std::uint64_t most_reports = 10;

 private:
  template <class TakeLines>
  void read(const NextLines& next_lines, TakeLines take_lines);
  void read_decimal(std::string_view lines);
  void read_line(std::string_view line);
  void read_fields(ColumnReader& column, bool is_last);
  void add(const ColumnReader::Field& field);
  void read_text(std::size_t line, std::string_view text);
  void report(std::size_t line, std::string_view mistake);
  void pass_on();
  void show_progress();

  Options options_;
  Take take_;
  Messages& messages_;
  std::vector<std::int64_t> ids_;  ///< room for a batch
  std::size_t filled_ = 0;
  std::size_t line_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t bad_ = 0;
  std::chrono::steady_clock::time_point next_progress_;
};

}  // namespace leafctl
