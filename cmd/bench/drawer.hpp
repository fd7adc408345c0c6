#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "bench/record.hpp"
#include "bench/verify.hpp"
#include "leaf/range.hpp"

namespace leafctl {

/// When calls are timed: one in `every` on average, at random distances, so that nothing that comes round
/// regularly, such as the end of a segment, is missed.
class Sampling {
 public:
  explicit Sampling(std::uint64_t every) : every_(every) {}

  /// How many calls go untimed before the next one that is timed.
  std::uint64_t gap() noexcept {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return every_ == 1 ? 0 : (random_ >> 33) % (2 * every_ - 1);
  }

 private:
  std::uint64_t every_;
  std::uint64_t random_ = 1;
};

/// Draws in one thread, again and again, and records what that took.
class Drawer {
 public:
  struct Task {
    std::int64_t batch = 1;         ///< items in a call
    std::int64_t quota = 0;         ///< items to draw
    std::uint64_t time_one_in = 1;  ///< calls
  };

  /// All are borrowed. `check` may be null. `wait_for_start` returns when drawing may begin.
  Drawer(const Task& task, DrawerRecord& record, const std::atomic<bool>& stop, IdCheck* check,
         std::function<void()> wait_for_start)
      : task_(task),
        record_(record),
        stop_(stop),
        check_(check),
        wait_for_start_(std::move(wait_for_start)) {}

  /// Calls `draw(n)`, which draws `n` items, up to a batch, and returns them: an ID, a span of IDs or a
  /// Range. The first call comes before the start and counts for nothing. Returns when the quota is drawn or
  /// `stop` is set. Throws what `draw` throws.
  template <class Draw>
  void run(Draw draw) {
    if (check_ == nullptr) {
      run_calls([&draw](std::int64_t n) { return counted(draw(n)); });
    } else {
      run_calls([this, &draw](std::int64_t n) {
        const std::int64_t floor = check_->newest();
        const auto drawn = draw(n);
        check_->check(floor, drawn, record_.violations);
        return counted(drawn);
      });
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// How many IDs those are; has the compiler make them all.
  static std::uint64_t counted(std::int64_t id) noexcept {
    asm volatile("" : : "r"(id));
    return 1;
  }
  static std::uint64_t counted(std::span<const std::int64_t> ids) noexcept {
    asm volatile("" : : "r"(ids.data()) : "memory");
    return ids.size();
  }
  static std::uint64_t counted(leaf::Range ids) noexcept { return ids.size(); }

  bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }

  template <class Call>
  void run_calls(Call call) {
    call(task_.batch);
    wait_for_start_();
    Sampling sampling(task_.time_one_in);
    std::int64_t left = task_.quota;
    std::uint64_t calls = 0;
    std::uint64_t ids = 0;
    record_.begun = Clock::now();
    auto ended = record_.begun;
    while (left > 0 && !stopped()) {
      const std::uint64_t calls_before_gap = calls;
      for (std::uint64_t gap = sampling.gap(); gap > 0 && left > task_.batch && !stopped(); --gap) {
        ids += call(task_.batch);
        left -= task_.batch;
        ++calls;
      }
      const auto begun = Clock::now();
      const std::int64_t n = std::min(task_.batch, left);
      ids += call(n);
      left -= n;
      const auto gap_took = calls == calls_before_gap ? Clock::duration::zero() : begun - ended;
      ended = Clock::now();
      record_.latency.record(ended - begun);
      record_.longest = std::max({record_.longest, gap_took, ended - begun});
      record_.calls.store(++calls, std::memory_order_relaxed);
      record_.ids.store(ids, std::memory_order_relaxed);
    }
    record_.ended = Clock::now();
  }

  Task task_;
  DrawerRecord& record_;
  const std::atomic<bool>& stop_;
  IdCheck* check_;
  std::function<void()> wait_for_start_;
};

}  // namespace leafctl
