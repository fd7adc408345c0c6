#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "bench/latency_histogram.hpp"
#include "bench/verify.hpp"
#include "leaf/error.hpp"

namespace leafctl {

/// An error as one process leaves it for another; long texts are cut. Plain data, none when new.
class FailureRecord {
 public:
  void set(const leaf::Error& error) noexcept;
  bool is_set() const noexcept { return code_ != 0; }
  leaf::Error error() const;

 private:
  int code_ = 0;
  char what_[1024]{};
  char hint_[512]{};
};

/// What one thread of a benchmark did. Lies in memory that processes share; only that thread writes, others
/// read the counts meanwhile and all the rest when its process has ended.
struct alignas(64) DrawerRecord {
  using Time = std::chrono::steady_clock::time_point;

  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> ids{0};
  Time begun{};  ///< none: it did not come to drawing
  Time ended{};
  LatencyHistogram latency;            ///< of the calls that were timed
  std::chrono::nanoseconds longest{};  ///< no call took longer, timed or not
  Violations violations;
  FailureRecord failure;
};

}  // namespace leafctl
