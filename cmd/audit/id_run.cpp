#include "audit/id_run.hpp"

#include <algorithm>
#include <utility>

namespace leafctl {

// What is written is numbers of seven bits a byte. `n + 1` says that the next ID is n above the one before,
// the first one above -1: so 1 is a repeat. 0 and a number say how many follow that are one more each.

namespace {

constexpr std::uint64_t stretch = 0;
constexpr std::size_t longest_number = 10;
/// What one ID adds at most: a stretch before it, and itself.
constexpr std::size_t longest_step = 3 * longest_number;

}  // namespace

IdRunWriter::IdRunWriter(BlockStore& store, std::size_t block_size)
    : store_(store), block_(std::max(block_size, smallest_block)) {}

void IdRunWriter::append(std::span<const std::int64_t> ids) {
  for (const std::int64_t id : ids) {
    const std::uint64_t distance = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(last_);
    last_ = id;
    if (distance == 1) {
      ++consecutive_;
      continue;
    }
    if (size_ + longest_step > block_.size()) keep_block();
    put_consecutive();
    put(distance + 1);
  }
}

IdRun IdRunWriter::finish() {
  if (size_ + longest_step > block_.size()) keep_block();
  put_consecutive();
  if (size_ != 0) keep_block();
  return std::move(run_);
}

void IdRunWriter::put(std::uint64_t number) {
  std::uint8_t* to = block_.data() + size_;
  while (number >= 0x80) {
    *to++ = static_cast<std::uint8_t>(number | 0x80);
    number >>= 7;
  }
  *to++ = static_cast<std::uint8_t>(number);
  size_ = static_cast<std::size_t>(to - block_.data());
}

void IdRunWriter::put_consecutive() {
  if (consecutive_ == 1) {
    put(2);
  } else if (consecutive_ != 0) {
    put(stretch);
    put(consecutive_);
  }
  consecutive_ = 0;
}

void IdRunWriter::keep_block() {
  run_.blocks.push_back(store_.keep(std::span(block_).first(size_)));
  size_ = 0;
}

bool IdRunReader::read_next() {
  if (rest_.empty() && !read_block()) return false;
  const std::uint64_t first = number();
  if (first == stretch) {
    consecutive_ = number();
  } else {
    last_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(last_) + (first - 1));
  }
  return true;
}

bool IdRunReader::read_block() {
  if (next_block_ != 0) store_.drop(run_.blocks[next_block_ - 1]);
  if (next_block_ == run_.blocks.size()) return false;
  rest_ = store_.read(run_.blocks[next_block_++], room_);
  return true;
}

std::uint64_t IdRunReader::number() {
  const std::uint8_t* from = rest_.data();
  std::uint64_t result = *from & 0x7F;
  for (int shift = 7; (*from++ & 0x80) != 0; shift += 7) {
    result |= static_cast<std::uint64_t>(*from & 0x7F) << shift;
  }
  rest_ = rest_.subspan(static_cast<std::size_t>(from - rest_.data()));
  return result;
}

}  // namespace leafctl
