#include "audit/rate_series.hpp"

#include <algorithm>

namespace leafctl {

void RateSeries::add_outside(std::int64_t tick, std::uint64_t count) {
  if (counts_.empty()) first_ = tick >> shift_;
  for (;;) {
    const std::int64_t first = std::min(first_, tick >> shift_);
    const std::int64_t end =
        std::max(first_ + static_cast<std::int64_t>(counts_.size()), (tick >> shift_) + 1);
    if (static_cast<std::uint64_t>(end - first) > most_stretches) {
      double_stretch();
      continue;
    }
    counts_.insert(counts_.begin(), static_cast<std::size_t>(first_ - first), 0);
    first_ = first;
    counts_.resize(static_cast<std::size_t>(end - first));
    counts_[static_cast<std::size_t>((tick >> shift_) - first_)] += count;
    return;
  }
}

void RateSeries::double_stretch() {
  const std::int64_t first = first_ >> 1;
  std::vector<std::uint64_t> halved;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const auto to = static_cast<std::size_t>(((first_ + static_cast<std::int64_t>(i)) >> 1) - first);
    if (to == halved.size()) halved.push_back(0);
    halved[to] += counts_[i];
  }
  counts_ = std::move(halved);
  first_ = first;
  ++shift_;
}

}  // namespace leafctl
