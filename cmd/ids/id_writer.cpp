#include "ids/id_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace leafctl {

namespace {

constexpr std::size_t most_digits = 19;
/// Large enough that system calls do not count, small enough to stay in the second-level cache.
constexpr std::size_t preferred_buffer = 256UL * 1024;

}  // namespace

IdWriter::IdWriter(OutputFile& file, std::string before, std::string after)
    : file_(file), before_(std::move(before)), after_(std::move(after)) {
  const std::size_t longest_line = before_.size() + most_digits + after_.size();
  low_digits_ = longest_line * 10'000 <= preferred_buffer ? 4 : 3;
  block_lines_ = low_digits_ == 4 ? 10'000 : 1'000;
}

void IdWriter::write(leaf::Range range) {
  const auto lines = static_cast<std::int64_t>(block_lines_);
  for (std::int64_t id = range.lo; id < range.hi;) {
    const std::int64_t first = id % lines;
    const std::int64_t count = std::min(lines - first, range.hi - id);
    file_.write(
        lines_of({id / lines, static_cast<std::size_t>(first), static_cast<std::size_t>(first + count)}));
    id += count;
  }
}

void IdWriter::write(std::span<const std::int64_t> ids) {
  laid_out_ = {0, 0, 0};
  char* const begin = reserve(ids.size() * (before_.size() + most_digits + after_.size()));
  char* end = begin;
  for (const std::int64_t id : ids) end = append_line(end, id);
  file_.write({begin, static_cast<std::size_t>(end - begin)});
}

std::string_view IdWriter::lines_of(const Slice& slice) {
  if (slice.block == 0) return lines_of_short_ids(slice);
  const bool covered = slice.first >= laid_out_.first && slice.last <= laid_out_.last;
  const bool same_width = std::to_string(slice.block).size() == high_digits_.size();
  if (laid_out_.block != 0 && covered && same_width) {
    turn_to(slice.block);
  } else {
    lay_out(slice);
  }
  return {buffer_.get() + (slice.first - laid_out_.first) * line_size_,
          (slice.last - slice.first) * line_size_};
}

/// The only block whose IDs differ in length.
std::string_view IdWriter::lines_of_short_ids(const Slice& slice) {
  laid_out_ = {0, 0, 0};
  const std::size_t longest_line = before_.size() + low_digits_ + after_.size();
  char* const begin = reserve((slice.last - slice.first) * longest_line);
  char* end = begin;
  for (std::size_t id = slice.first; id < slice.last; ++id)
    end = append_line(end, static_cast<std::int64_t>(id));
  return {begin, static_cast<std::size_t>(end - begin)};
}

char* IdWriter::append_line(char* to, std::int64_t id) const {
  to = std::copy(before_.begin(), before_.end(), to);
  to = std::to_chars(to, to + most_digits, id).ptr;
  return std::copy(after_.begin(), after_.end(), to);
}

void IdWriter::lay_out(const Slice& slice) {
  laid_out_ = slice;
  high_digits_ = std::to_string(slice.block);
  line_size_ = before_.size() + high_digits_.size() + low_digits_ + after_.size();
  char* end = reserve((slice.last - slice.first) * line_size_);
  for (std::size_t line = slice.first; line < slice.last; ++line) {
    end = std::copy(before_.begin(), before_.end(), end);
    end = std::copy(high_digits_.begin(), high_digits_.end(), end);
    std::size_t rest = line;
    for (char* digit = end + low_digits_; digit != end; rest /= 10)
      *--digit = static_cast<char>('0' + rest % 10);
    end = std::copy(after_.begin(), after_.end(), end + low_digits_);
  }
}

void IdWriter::turn_to(std::int64_t block) {
  const std::string digits = std::to_string(block);
  const std::size_t count = laid_out_.last - laid_out_.first;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] == high_digits_[i]) continue;
    char* column = buffer_.get() + before_.size() + i;
    for (std::size_t line = 0; line < count; ++line, column += line_size_) *column = digits[i];
  }
  high_digits_ = digits;
  laid_out_.block = block;
}

char* IdWriter::reserve(std::size_t size) {
  if (size > capacity_) {
    buffer_ = std::make_unique_for_overwrite<char[]>(size);
    capacity_ = size;
  }
  return buffer_.get();
}

}  // namespace leafctl
