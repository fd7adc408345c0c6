#pragma once

#include <cstddef>
#include <cstdint>

namespace leafctl {

/// A set of IDs that lie near to each other, a bit for each that there could be. Only what lies around IDs in
/// it takes memory.
class IdBitmap {
 public:
  /// For the IDs from `first` on that `bytes` have bits for. Throws leaf::Error (failed).
  IdBitmap(std::int64_t first, std::size_t bytes);
  ~IdBitmap();
  IdBitmap(const IdBitmap&) = delete;
  IdBitmap& operator=(const IdBitmap&) = delete;

  /// True if there is a bit for it.
  bool covers(std::int64_t id) const noexcept { return index_of(id) < words_count_ * 64; }
  /// True if it is new. It has to be covered.
  bool insert(std::int64_t id) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (index_of(id) % 64);
    std::uint64_t& word = words_[index_of(id) / 64];
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

  /// Calls up the least ID that next() has not given yet; false if there is none. Nothing is inserted any
  /// more.
  bool next(std::int64_t& id) noexcept;

 private:
  std::uint64_t index_of(std::int64_t id) const noexcept {
    return static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(first_);
  }

  std::int64_t first_;
  std::size_t words_count_;
  std::uint64_t* words_;
  std::size_t next_word_ = 0;
  std::uint64_t rest_of_word_ = 0;  ///< of the word before next_word_, without what was given
};

}  // namespace leafctl
