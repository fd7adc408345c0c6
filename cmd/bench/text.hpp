#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "bench/latency_histogram.hpp"

namespace leafctl {

/// A duration in three digits: "5.21 ns", "384 us", "2.00 s".
std::string short_duration(std::chrono::duration<double> duration);

/// `histogram`, of at least one call, as bars: a line for each of 1, 2 and 5 times a power of ten
/// nanoseconds.
std::string bars(const LatencyHistogram& histogram, std::size_t widest = 50);

}  // namespace leafctl
