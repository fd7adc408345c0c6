#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace leaf::test {

/// Tells whether an ID was seen before: one bit for each of the IDs [0, size). Any number of threads.
class Bitmap {
 public:
  explicit Bitmap(std::size_t size) : words_((size + 63) / 64) {}

  /// True if `id` is new.
  bool insert(std::int64_t id) {
    const auto index = static_cast<std::size_t>(id);
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    return (words_.at(index / 64).fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }

 private:
  std::vector<std::atomic<std::uint64_t>> words_;
};

}  // namespace leaf::test
