#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bench/drawer.hpp"
#include "bench/plan.hpp"
#include "leaf/error.hpp"
#include "leaf/range.hpp"
#include "terminal/messages.hpp"

namespace leafctl {

/// Where the threads of one process draw.
class BenchSource {
 public:
  virtual ~BenchSource() = default;

  /// In a thread: has `drawer` run a call. Throws leaf::Error.
  virtual void draw(Drawer& drawer) = 0;
};

/// What a report says besides figures. What is absent is left out.
struct BenchSubject {
  std::string name;  ///< the command's, such as "segment"
  std::optional<std::string> store{};
  std::optional<std::string> tag{};
  std::optional<std::string> layout{};
  std::optional<double> ceiling{};  ///< IDs a second that the layout allows one process
  bool counts_calls = false;        ///< the rate that matters is that of calls, which are grants
};

/// What is measured.
class Benchmark {
 public:
  virtual ~Benchmark() = default;

  /// Makes what is needed in the store, once, in the process that was started, after all others were forked.
  /// Returns which IDs may be drawn, for --verify. Throws leaf::Error.
  virtual leaf::Range prepare() { return {}; }
  /// Makes, in each process, what its threads draw from. Throws leaf::Error.
  virtual std::unique_ptr<BenchSource> open() = 0;
  /// To be asked when all is over.
  virtual BenchSubject subject() const = 0;
  /// Removes what is left in the store, when all processes have ended; called also where prepare() failed.
  /// Throws leaf::Error.
  virtual void clean_up() {}
  /// Of how many calls of a batch one is timed, so that the clock does not count.
  virtual std::uint64_t time_one_in(std::int64_t /*batch*/) const { return 1; }
};

struct BenchResult {
  std::chrono::nanoseconds elapsed{};  ///< from the first drawer's start to the last one's end
  std::uint64_t calls = 0;
  std::uint64_t ids = 0;
  LatencyHistogram latency;               ///< of the calls that were timed
  std::chrono::nanoseconds longest{};     ///< no call took longer, timed or not
  std::chrono::nanoseconds clock_cost{};  ///< part of each latency
  Violations violations;
  int signal = 0;                          ///< that ended it early, if not 0
  std::optional<leaf::Error> failure{};    ///< what ended it early
  std::optional<leaf::Error> left_over{};  ///< why something is left in the store

  double per_second(std::uint64_t count) const noexcept;
};

/// Runs a benchmark, with a line of progress. An InterruptGuard has to live; a signal ends the run, not the
/// process. Precondition: this process has one thread and no connection to a store.
BenchResult run_benchmark(const BenchPlan& plan, Benchmark& benchmark, Messages& messages);

}  // namespace leafctl
