#include "bench/run.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <vector>

#include "bench/drawers.hpp"
#include "bench/text.hpp"
#include "terminal/interrupt.hpp"
#include "text/grouped.hpp"

namespace leafctl {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds progress_interval{200};

/// The processes that draw, as seen by the one that forked them.
class Crew {
 public:
  Crew(const BenchPlan& plan, Benchmark& benchmark, BenchBoard& board) : board_(board) {
    processes_.reserve(static_cast<std::size_t>(plan.processes));
    for (std::int64_t number = 0; number < plan.processes; ++number) {
      processes_.push_back(ForkedProcess::start(
          [&, number](const ProcessLink& link) { run_drawers(plan, number, benchmark, board, link); }));
    }
  }

  void signal_all() {
    for (const ForkedProcess& process : processes_) process.link().signal();
  }

  /// Returns when each has said that it is ready, or has ended.
  void await_all() {
    for (const ForkedProcess& process : processes_) {
      if (!process.link().wait()) board_.stop() = true;
    }
  }

  /// Returns when all have ended, as they do when stopped; true if all ended well. Calls `tick` now and then,
  /// which says when next.
  bool supervise(const std::function<milliseconds()>& tick) {
    std::vector<pollfd> links;
    for (const ForkedProcess& process : processes_) links.push_back({process.link().socket(), POLLIN, 0});
    bool well = true;
    for (std::size_t running = links.size(); running > 0;) {
      poll(links.data(), links.size(), static_cast<int>(tick().count()));
      for (std::size_t i = 0; i < links.size(); ++i) {
        if (links[i].revents == 0) continue;
        links[i] = {-1, 0, 0};
        --running;
        if (processes_[i].join()) continue;
        well = false;
        board_.stop() = true;
      }
    }
    return well;
  }

 private:
  BenchBoard& board_;
  std::vector<ForkedProcess> processes_;
};

/// Stops the run in time, and shows how it goes on.
class Watch {
 public:
  Watch(const BenchPlan& plan, BenchBoard& board, Messages& messages) : board_(board), messages_(messages) {
    if (!plan.count) deadline_ = begun_ + plan.duration;
  }

  milliseconds tick() {
    const auto now = Clock::now();
    if (now >= deadline_ || InterruptGuard::received() != 0) board_.stop() = true;
    if (board_.stop()) return progress_interval;
    show(now);
    return std::min(progress_interval, std::chrono::ceil<milliseconds>(deadline_ - now));
  }

 private:
  void show(Clock::time_point now) {
    if (now < next_progress_) return;
    next_progress_ = now + progress_interval;
    std::uint64_t ids = 0;
    for (const DrawerRecord& record : board_.records) ids += record.ids.load(std::memory_order_relaxed);
    const std::chrono::duration<double> elapsed = now - begun_;
    const double rate = static_cast<double>(ids) / std::max(elapsed.count(), 1e-3);
    try {
      messages_.progress(fmt::format("{:.1f} s  {} IDs  {}/s", elapsed.count(), grouped(ids),
                                     grouped(static_cast<std::uint64_t>(rate))));
    } catch (const Interrupted&) {
      // The next tick sees it.
    }
  }

  BenchBoard& board_;
  Messages& messages_;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point next_progress_ = begun_ + progress_interval;
};

void draw_all(const BenchPlan& plan, Benchmark& benchmark, BenchBoard& board, Messages& messages) {
  Crew crew(plan, benchmark, board);
  const leaf::Range ids = benchmark.prepare();
  if (board.seen) board.seen->cover(ids);
  crew.signal_all();
  crew.await_all();
  crew.signal_all();
  Watch watch(plan, board, messages);
  const bool well = crew.supervise([&] { return watch.tick(); });
  if (!well) throw leaf::Error(leaf::ErrorCode::failed, "a process of the benchmark was killed");
}

std::chrono::nanoseconds clock_cost() {
  constexpr int reads = 1000;
  const auto begun = Clock::now();
  for (int i = 1; i < reads; ++i) Clock::now();
  return (Clock::now() - begun) / reads;
}

BenchResult collect(BenchBoard& board) {
  BenchResult result;
  auto begun = Clock::time_point::max();
  auto ended = Clock::time_point::min();
  for (const DrawerRecord& record : board.records) {
    if (record.failure.is_set() && !result.failure) result.failure = record.failure.error();
    result.violations.merge(record.violations);
    if (record.ended == Clock::time_point{}) continue;
    begun = std::min(begun, record.begun);
    ended = std::max(ended, record.ended);
    result.calls += record.calls;
    result.ids += record.ids;
    result.latency.merge(record.latency);
    result.longest = std::max(result.longest, record.longest);
  }
  if (begun < ended) result.elapsed = ended - begun;
  return result;
}

}  // namespace

double BenchResult::per_second(std::uint64_t count) const noexcept {
  const double seconds = std::chrono::duration<double>(elapsed).count();
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

BenchResult run_benchmark(const BenchPlan& plan, Benchmark& benchmark, Messages& messages) {
  std::optional<leaf::Error> failure;
  std::optional<leaf::Error> left_over;
  BenchBoard board(plan);
  try {
    draw_all(plan, benchmark, board, messages);
  } catch (const leaf::Error& error) {
    failure = error;
  }
  try {
    benchmark.clean_up();
  } catch (const leaf::Error& error) {
    left_over = error;
  }
  BenchResult result = collect(board);
  if (!result.failure) result.failure = failure;
  result.left_over = left_over;
  result.clock_cost = clock_cost();
  result.signal = InterruptGuard::received();
  return result;
}

}  // namespace leafctl
