#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "bench/plan.hpp"
#include "bench/process.hpp"
#include "bench/record.hpp"
#include "bench/run.hpp"
#include "bench/shared_array.hpp"
#include "bench/verify.hpp"

namespace leafctl {

/// What the processes of a benchmark share.
struct BenchBoard {
  explicit BenchBoard(const BenchPlan& plan)
      : records(static_cast<std::size_t>(plan.drawers())), newest_(static_cast<std::size_t>(plan.buffers())) {
    if (plan.verify) seen.emplace();
    for (std::atomic<std::int64_t>& newest : newest_) newest = IdCheck::none;
  }

  std::atomic<bool>& stop() noexcept { return *stop_.begin(); }

  /// For IdCheck: the one of the buffer that this process draws from.
  std::atomic<std::int64_t>& newest_of(std::int64_t process) noexcept {
    return newest_.end() - newest_.begin() == 1 ? newest_[0] : newest_[static_cast<std::size_t>(process)];
  }

  SharedArray<DrawerRecord> records;  ///< a process's threads lie together
  std::optional<SeenIds> seen{};      ///< what to verify with

 private:
  SharedArray<std::atomic<bool>> stop_{1};
  SharedArray<std::atomic<std::int64_t>> newest_;  ///< one for each buffer
};

/// Runs all threads of the process of this number. Over `link` it waits until the store is prepared, says
/// that its threads are ready, and waits for the start. A failure goes to the board and stops all.
void run_drawers(const BenchPlan& plan, std::int64_t process, Benchmark& benchmark, BenchBoard& board,
                 const ProcessLink& link);

}  // namespace leafctl
