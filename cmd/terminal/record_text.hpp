#pragma once

#include <string>
#include <vector>

#include "terminal/output.hpp"

namespace leafctl {

/// `row` as one JSON object on a line of its own.
std::string json_line(Keys keys, const Row& row);

/// `row` as one tab-separated line.
std::string tsv_line(const Row& row);

/// `rows`, of which there is one at least, below a header, aligned; `color` makes the header bold. Remarks
/// that do not fit in `line_width` stand below their row; if the rest does not fit, each row is a block of
/// key_value_lines().
std::string table(Keys keys, const std::vector<Row>& rows, bool color, std::size_t line_width = 80);

/// One line for each column of `row`: its key and its value, aligned; more where a value has blanks to break
/// it at and does not fit in `line_width`.
std::string key_value_lines(Keys keys, const Row& row, std::size_t line_width = 80);

}  // namespace leafctl
