#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace leaf::simulation {

/// SplitMix64: the same numbers of a seed everywhere. Source: https://prng.di.unimi.it/splitmix64.c
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
    return mixed ^ mixed >> 31;
  }
  /// From 0 to `bound` - 1.
  std::int64_t below(std::int64_t bound) noexcept {
    // Quicker than a remainder. Source: https://arxiv.org/abs/1805.10941
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::int64_t>(Wide{next()} * static_cast<std::uint64_t>(bound) >> 64);
  }
  /// From `first` to `last`.
  std::int64_t between(std::int64_t first, std::int64_t last) noexcept {
    return first + below(last - first + 1);
  }
  /// As between(), but each power of two is as likely as the next.
  std::int64_t spread(std::int64_t first, std::int64_t last) noexcept {
    const std::int64_t span = last - first + 1;
    const int bits = std::min(62, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(span - 1))));
    // One number does for both, as the bits below those that choose the power have not been looked at.
    __extension__ using Wide = unsigned __int128;
    const Wide chosen = Wide{next()} * static_cast<std::uint64_t>(bits + 1);
    const std::int64_t bound = std::min(span, std::int64_t{1} << static_cast<int>(chosen >> 64));
    return first + static_cast<std::int64_t>(
                       Wide{static_cast<std::uint64_t>(chosen)} * static_cast<std::uint64_t>(bound) >> 64);
  }
  bool one_in(std::int64_t n) noexcept { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace leaf::simulation
