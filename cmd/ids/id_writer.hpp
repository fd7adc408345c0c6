#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "leaf/range.hpp"
#include "terminal/output_file.hpp"

namespace leafctl {

/// Prints ranges of IDs in decimal, one a line, at the speed of memory and in constant space.
///
/// Lines are laid out in blocks of a power of ten; IDs being consecutive, the next block differs from the one
/// before in few digits, often one, and only these columns are written anew.
class IdWriter {
 public:
  /// A line is `before`, the ID and `after`, which ends with a newline. `file` is borrowed.
  IdWriter(OutputFile& file, std::string before, std::string after);

  /// Writes a line for each ID of `range`, none of which is negative. Throws as OutputFile::write() does.
  void write(leaf::Range range);

  /// Writes a line for each of `ids`, none of which is negative, in one piece. Slower by far than a range,
  /// but they need not be consecutive.
  void write(std::span<const std::int64_t> ids);

 private:
  /// The lines [first, last) of a block: those IDs whose leading digits are `block`.
  struct Slice {
    std::int64_t block;
    std::size_t first;
    std::size_t last;
  };

  std::string_view lines_of(const Slice& slice);
  std::string_view lines_of_short_ids(const Slice& slice);
  char* append_line(char* to, std::int64_t id) const;
  void lay_out(const Slice& slice);
  void turn_to(std::int64_t block);
  char* reserve(std::size_t size);

  OutputFile& file_;
  std::string before_;
  std::string after_;
  std::size_t block_lines_;
  std::size_t low_digits_;  ///< block_lines_ is ten to this power

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  Slice laid_out_{0, 0, 0};  ///< what the buffer holds
  std::string high_digits_;  ///< of laid_out_.block
  std::size_t line_size_ = 0;
};

}  // namespace leafctl
