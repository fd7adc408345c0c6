#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leafctl {

/// Reads whole lines from a file descriptor, many at a time and in constant memory. Borrows the descriptor.
class LineReader {
 public:
  /// `name` is what errors call it, such as "standard input".
  LineReader(int descriptor, std::string name);

  /// Waits for more and returns the whole lines that came, each with its newline; the very last one may lack
  /// it. Empty at the end. Of a line longer than max_line it returns the beginning, without a newline. Valid
  /// until the next call. Throws leaf::Error (failed).
  std::string_view next_lines();

  static constexpr std::size_t max_line = 128UL * 1024;

 private:
  std::size_t read_more();
  void skip_line();

  int descriptor_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of the line that is not whole yet
  std::size_t end_ = 0;
  bool skips_line_ = false;  // the rest of a line that was too long
};

}  // namespace leafctl
