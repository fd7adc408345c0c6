#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "audit/block_store.hpp"

namespace leafctl {

/// IDs in ascending order, repeats included, as the distances between them: 1 byte for an ID that is near to
/// the one before, some bits for a stretch without gaps, at most 10 bytes.
struct IdRun {
  std::vector<Block> blocks;
};

/// Writes a run.
class IdRunWriter {
 public:
  /// `store` is borrowed. A block has up to `block_size` bytes, at least smallest_block.
  IdRunWriter(BlockStore& store, std::size_t block_size);

  static constexpr std::size_t smallest_block = 64;

  /// `ids` ascend, from last() on. Throws as BlockStore::keep() does.
  void append(std::span<const std::int64_t> ids);

  /// The greatest ID so far; -1 if there is none.
  std::int64_t last() const noexcept { return last_; }

  /// The run, which is whole then. Throws as BlockStore::keep() does.
  IdRun finish();

 private:
  void put(std::uint64_t number);
  void put_consecutive();
  void keep_block();

  BlockStore& store_;
  std::vector<std::uint8_t> block_;
  std::size_t size_ = 0;  ///< of what is in block_
  IdRun run_;
  std::int64_t last_ = -1;
  std::uint64_t consecutive_ = 0;  ///< IDs up to last_ that are not written yet, each one more than before
};

/// Reads a run once, and gives its memory up on the way.
class IdRunReader {
 public:
  /// `store` is borrowed.
  IdRunReader(BlockStore& store, IdRun run) : store_(store), run_(std::move(run)) {}

  /// The next ID; false at the end. Throws as BlockStore::read() does.
  bool next(std::int64_t& id) {
    if (consecutive_ == 0 && !read_next()) return false;
    if (consecutive_ != 0) {
      --consecutive_;
      ++last_;
    }
    id = last_;
    return true;
  }

 private:
  bool read_next();
  bool read_block();
  std::uint64_t number();

  BlockStore& store_;
  IdRun run_;
  std::size_t next_block_ = 0;
  std::vector<std::uint8_t> room_;
  std::span<const std::uint8_t> rest_;
  std::int64_t last_ = -1;
  std::uint64_t consecutive_ = 0;
};

}  // namespace leafctl
