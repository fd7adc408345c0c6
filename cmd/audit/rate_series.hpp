#pragma once

#include <cstdint>
#include <vector>

namespace leafctl {

/// How many of something there were over time, in stretches of equal length that grow as there is more time
/// to cover: never more than most_stretches.
class RateSeries {
 public:
  static constexpr std::size_t most_stretches = 4096;

  /// `count` of them at `tick`, which is not negative. In any order.
  void add(std::int64_t tick, std::uint64_t count) {
    const std::int64_t index = (tick >> shift_) - first_;
    if (index >= 0 && static_cast<std::size_t>(index) < counts_.size()) [[likely]] {
      counts_[static_cast<std::size_t>(index)] += count;
    } else {
      add_outside(tick, count);
    }
  }

  bool empty() const noexcept { return counts_.empty(); }
  /// The first tick of the first stretch.
  std::int64_t begin() const noexcept { return first_ << shift_; }
  /// How many ticks each stretch has.
  std::int64_t stretch() const noexcept { return std::int64_t{1} << shift_; }
  const std::vector<std::uint64_t>& counts() const noexcept { return counts_; }

 private:
  void add_outside(std::int64_t tick, std::uint64_t count);
  void double_stretch();

  int shift_ = 0;
  std::int64_t first_ = 0;  ///< tick >> shift_ of the first stretch
  std::vector<std::uint64_t> counts_;
};

}  // namespace leafctl
