#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace leafctl {

/// How long calls took, counted in buckets as of an HDR histogram: each is at most 1/128 of its values wide,
/// so that a quantile is at most 0.8% too high and never too low, from 1 ns on.
///
/// Plain data, all zero when new: it may lie in memory that processes share. One thread records at a time.
class LatencyHistogram {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  /// `latency` is not negative.
  void record(Nanoseconds latency) noexcept {
    const auto value = static_cast<std::uint64_t>(latency.count());
    ++counts_[bucket_of(value)];
    ++count_;
    max_ = std::max(max_, value);
  }

  void merge(const LatencyHistogram& other) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  /// How many were shorter than `end`; those in its bucket do not count.
  std::uint64_t count_below(Nanoseconds end) const noexcept;
  /// The latency that a share of all calls, above 0 and up to 1, did not exceed; 0 if there were none.
  Nanoseconds quantile(double share) const noexcept;
  /// Exact.
  Nanoseconds max() const noexcept { return Nanoseconds(static_cast<std::int64_t>(max_)); }

 private:
  static constexpr int precision_bits = 7;
  static constexpr std::uint64_t precision = 1 << precision_bits;
  static constexpr std::size_t buckets = (64 - precision_bits + 1) << precision_bits;

  /// Values below 2 * precision have buckets of their own; from there on each doubling has as many as the
  /// others.
  static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    const int shift = std::max(static_cast<int>(std::bit_width(value)) - precision_bits - 1, 0);
    return static_cast<std::size_t>((static_cast<std::uint64_t>(shift) << precision_bits) + (value >> shift));
  }
  /// The greatest value in a bucket.
  static constexpr std::uint64_t last_of(std::size_t bucket) noexcept {
    if (bucket < 2 * precision) return bucket;
    const auto shift = (bucket >> precision_bits) - 1;
    return ((bucket - (shift << precision_bits) + 1) << shift) - 1;
  }

  std::array<std::uint64_t, buckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace leafctl
