#include "bench/plan.hpp"

#include <fmt/format.h>

#include "cli/declaration.hpp"
#include "leaf/error.hpp"
#include "leaf/tag.hpp"

namespace leafctl {

namespace {

constexpr IntegerBounds process_bounds{1, 64};
constexpr IntegerBounds thread_bounds{1, 128};
constexpr IntegerBounds batch_bounds{1, 1'000'000};
constexpr DurationBounds duration_bounds{std::chrono::milliseconds(1), std::chrono::hours(24)};

}  // namespace

void BenchPlanOptions::declare(Declaration& command, const Extent& extent) {
  command.add_integer_option(
      "-t,--threads", "N", threads_, thread_bounds,
      fmt::format("threads in each process, 1 to {} (default: 1)", thread_bounds.highest));
  command.add_integer_option("--processes", "N", processes_, process_bounds,
                             fmt::format("processes, 1 to {} (default: 1)", process_bounds.highest));
  if (extent.batch) {
    command.add_integer_option(
        "--batch", "N", batch_, batch_bounds,
        fmt::format("{} in one call, 1 to {} (default: 1)", extent.item, batch_bounds.highest));
  }
  command.add_text_option("--duration", "DURATION", duration_, "how long, 1ms to 24h (default: 2s)");
  command.add_integer_option("-n,--count", "N", count_, {1, leaf::max_id},
                             fmt::format("how many {} in all, instead of a duration", extent.item));
  if (extent.verify) {
    command.add_flag("--verify", verify_,
                     "check that no ID repeats, and that in each process a later call gets higher IDs");
  }
  if (extent.host_buffer) {
    command.add_flag("--host-buffer", host_buffer_,
                     "have all processes draw from one buffer, as those of a host do");
  }
}

BenchPlan BenchPlanOptions::plan() const {
  if (count_ && duration_) {
    throw leaf::Error(leaf::ErrorCode::usage, "'--count' and '--duration' exclude each other");
  }
  BenchPlan plan;
  plan.processes = processes_.value_or(plan.processes);
  plan.threads = threads_.value_or(plan.threads);
  plan.batch = batch_.value_or(plan.batch);
  plan.count = count_;
  if (duration_) plan.duration = parse_duration("--duration", *duration_, duration_bounds);
  plan.verify = verify_;
  plan.host_buffer = host_buffer_;
  return plan;
}

}  // namespace leafctl
