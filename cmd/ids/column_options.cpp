#include "ids/column_options.hpp"

#include <fmt/format.h>

#include "leaf/error.hpp"

namespace leafctl {

void ColumnOptions::declare(Declaration& command) {
  command.add_text_option("--column", "N|NAME", column_,
                          "read a column of a CSV or TSV, by its number or its name in the first line");
  command.add_text_option("--separator", "CHAR|tab", separator_,
                          "the column separator (default: a tab, comma or semicolon, by the first line)");
  command.add_flag("--header", header_, "the first line names the columns, even when --column is a number");
}

std::optional<ColumnReader::Options> ColumnOptions::options() const {
  if (column_) return ColumnReader::Options{*column_, separator_, header_};
  if (!separator_ && !header_) return std::nullopt;
  throw leaf::Error(leaf::ErrorCode::usage,
                    fmt::format("'{}' requires '--column'", separator_ ? "--separator" : "--header"));
}

}  // namespace leafctl
