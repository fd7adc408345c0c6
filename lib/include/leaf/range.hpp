#pragma once

#include <cstdint>

namespace leaf {

/// A half-open range [lo, hi) of IDs.
struct Range {
  std::int64_t lo = 0;
  std::int64_t hi = 0;

  std::uint64_t size() const noexcept {
    return static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
  }
  bool empty() const noexcept { return lo == hi; }
  friend bool operator==(const Range&, const Range&) = default;
};

}  // namespace leaf
