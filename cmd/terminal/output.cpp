#include "terminal/output.hpp"

#include "terminal/record_text.hpp"

namespace leafctl {

void Output::print_list(Keys keys, const std::vector<Row>& rows) {
  if (format_ == OutputFormat::text && is_terminal()) {
    if (!rows.empty()) buffer_ += table(keys, rows, color_, file_.line_width());
    return;
  }
  for (const Row& row : rows) buffer_ += format_ == OutputFormat::json ? json_line(keys, row) : tsv_line(row);
}

void Output::print_one(Keys keys, const Row& row) {
  if (format_ == OutputFormat::json) {
    buffer_ += json_line(keys, row);
  } else {
    buffer_ += is_terminal() ? key_value_lines(keys, row, file_.line_width()) : tsv_line(row);
  }
}

void Output::flush() {
  if (buffer_.empty()) return;
  file_.write(buffer_);
  buffer_.clear();
}

}  // namespace leafctl
