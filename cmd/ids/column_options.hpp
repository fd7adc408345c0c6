#pragma once

#include <optional>
#include <string>

#include "cli/declaration.hpp"
#include "ids/column_reader.hpp"

namespace leafctl {

/// The options --column, --separator and --header, for every command that reads a column of IDs.
class ColumnOptions {
 public:
  /// Adds them to `command`; this has to live as long.
  void declare(Declaration& command);

  /// What they say; none where IDs are lines. Throws leaf::Error (usage) where one lacks the column.
  std::optional<ColumnReader::Options> options() const;

 private:
  std::optional<std::string> column_;
  std::optional<std::string> separator_;
  bool header_ = false;
};

}  // namespace leafctl
