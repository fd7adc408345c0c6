#include "bench/latency_histogram.hpp"

#include <cmath>

namespace leafctl {

void LatencyHistogram::merge(const LatencyHistogram& other) noexcept {
  for (std::size_t i = 0; i < buckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

std::uint64_t LatencyHistogram::count_below(Nanoseconds end) const noexcept {
  const std::size_t stop = bucket_of(static_cast<std::uint64_t>(end.count()));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < stop; ++i) below += counts_[i];
  return below;
}

LatencyHistogram::Nanoseconds LatencyHistogram::quantile(double share) const noexcept {
  if (count_ == 0) return Nanoseconds::zero();
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets; ++i) {
    seen += counts_[i];
    if (seen >= rank) return Nanoseconds(static_cast<std::int64_t>(std::min(last_of(i), max_)));
  }
  return max();
}

}  // namespace leafctl
