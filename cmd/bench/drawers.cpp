#include "bench/drawers.hpp"
#include "text/hint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

namespace leafctl {

namespace {

/// Enough calls to be timed, in a benchmark of few, for the quantiles to mean something.
constexpr std::int64_t wanted_samples = 10'000;

Drawer::Task task_of(const BenchPlan& plan, std::int64_t drawer, const Benchmark& benchmark) {
  Drawer::Task task{.batch = plan.batch, .quota = plan.quota(drawer), .time_one_in = 1};
  const auto few =
      static_cast<std::uint64_t>(std::max<std::int64_t>(task.quota / task.batch / wanted_samples, 1));
  task.time_one_in = std::min(benchmark.time_one_in(plan.batch), few);
  return task;
}

/// Leaves what `work` throws in `record`, and stops all drawers.
void guarded(DrawerRecord& record, BenchBoard& board, const std::function<void()>& work) {
  try {
    work();
    return;
  } catch (const leaf::Error& error) {
    record.failure.set(error);
  } catch (const std::exception& error) {
    record.failure.set({leaf::ErrorCode::failed, error.what()});
  }
  board.stop() = true;
}

/// The threads of a process, and the line at which they wait for each other.
class Drawers {
 public:
  Drawers(std::int64_t threads, BenchBoard& board, DrawerRecord* records)
      : board_(board), records_(records), arrivals_(threads) {}

  void run(
      std::int64_t threads, const ProcessLink& link,
      const std::function<void(std::int64_t thread, const std::function<void()>& wait_for_start)>& draw) {
    std::vector<std::jthread> running;
    for (std::int64_t thread = 0; thread < threads; ++thread) {
      DrawerRecord& record = records_[thread];
      const auto body = [this, &record, &draw, thread] {
        bool arrived = false;
        guarded(record, board_, [&] {
          draw(thread, [&] {
            arrived = true;
            arrivals_.count_down();
            start_.wait();
          });
        });
        if (!arrived) arrivals_.count_down();
      };
      guarded(record, board_, [&] {
        try {
          running.emplace_back(body);
        } catch (const std::system_error& error) {
          arrivals_.count_down();
          throw leaf::Error(leaf::ErrorCode::failed,
                            fmt::format("cannot start a thread: {}", error.code().message()),
                            "try fewer threads or processes"_hint);
        }
      });
    }
    arrivals_.wait();
    if (!link.signal() || !link.wait()) board_.stop() = true;
    start_.count_down();
  }

 private:
  BenchBoard& board_;
  DrawerRecord* records_;
  std::latch arrivals_;
  std::latch start_{1};
};

}  // namespace

void run_drawers(const BenchPlan& plan, std::int64_t process, Benchmark& benchmark, BenchBoard& board,
                 const ProcessLink& link) {
  const std::int64_t first = process * plan.threads;
  DrawerRecord* const records = &board.records[static_cast<std::size_t>(first)];
  guarded(*records, board, [&] {
    if (!link.wait()) return;
    std::optional<IdCheck> check;
    if (plan.verify) {
      board.seen->open();
      check.emplace(*board.seen, board.newest_of(process));
    }
    const auto source = benchmark.open();
    Drawers(plan.threads, board, records)
        .run(plan.threads, link, [&](std::int64_t thread, const std::function<void()>& wait_for_start) {
          Drawer drawer(task_of(plan, first + thread, benchmark), records[thread], board.stop(),
                        check ? &*check : nullptr, wait_for_start);
          source->draw(drawer);
        });
  });
}

}  // namespace leafctl
