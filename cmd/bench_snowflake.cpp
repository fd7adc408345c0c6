#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "bench/host.hpp"
#include "bench/report.hpp"
#include "bench/tag.hpp"
#include "cli/declaration.hpp"
#include "commands.hpp"
#include "leaf/error.hpp"
#include "leaf/snowflake.hpp"
#include "text/time_text.hpp"
#include "workers/worker_request.hpp"

namespace leafctl {

namespace {

using std::chrono::milliseconds;

/// What clocks may be off, and what the run may take longer than planned.
constexpr milliseconds margin = std::chrono::minutes(1);

class SnowflakeSource : public BenchSource {
 public:
  SnowflakeSource(const leaf::StoreOptions& store, const leaf::SnowflakeOptions& options, std::int64_t batch)
      : generator_(store, options), batch_(batch) {}

  void draw(Drawer& drawer) override {
    if (batch_ == 1) {
      drawer.run([this](std::int64_t) { return generator_.next(); });
      return;
    }
    std::vector<std::int64_t> ids(static_cast<std::size_t>(batch_));
    drawer.run([&](std::int64_t n) {
      const auto drawn = std::span(ids).first(static_cast<std::size_t>(n));
      generator_.next(drawn);
      return std::span<const std::int64_t>(drawn);
    });
  }

 private:
  leaf::SnowflakeGenerator generator_;
  std::int64_t batch_;
};

/// The longest that a run is thought to take.
milliseconds longest(const BenchPlan& plan) {
  return plan.count ? std::chrono::hours(1) : plan.duration;
}

/// The IDs of all workers in that time.
leaf::Range ids_of(const leaf::Layout& layout, const BenchPlan& plan) {
  if (!layout.ordered_by_time()) {
    throw leaf::Error(
        leaf::ErrorCode::usage,
        fmt::format("'--verify' is for layouts whose time comes first, not for '{}'", layout.name()));
  }
  const auto now = current_time();
  const auto first = std::max(now - margin, layout.epoch());
  const auto last = std::min(now + longest(plan) + margin, layout.last_time());
  return {layout.first_id(first), layout.last_id(last) + 1};
}

class SnowflakeBenchmark : public Benchmark {
 public:
  SnowflakeBenchmark(const Session& session, const BenchPlan& plan)
      : settings_(session.settings()),
        store_(session.store_options_without_marks()),
        host_(session, plan),
        plan_(plan),
        options_{.worker = worker_request(settings_),
                 .max_backward = settings_.max_backward,
                 .timeout = settings_.timeout,
                 .host = host_.options()} {
    options_.worker.owner = throwaway_name();
    options_.worker.worker.reset();
  }

  leaf::Range prepare() override {
    layout_ = leaf::Store(store_).layout();
    return plan_.verify ? ids_of(*layout_, plan_) : leaf::Range{};
  }
  std::unique_ptr<BenchSource> open() override {
    leaf::SnowflakeOptions options = options_;
    // A process that is killed keeps its worker from others but briefly.
    const auto enough = std::max<milliseconds>(longest(plan_) + std::chrono::seconds(5),
                                               2 * leaf::Store(store_).layout().unit());
    options.worker.window = std::min(options.worker.window, enough);
    return std::make_unique<SnowflakeSource>(store_, options, plan_.batch);
  }
  void clean_up() override {
    host_.clean_up();
    // Where the layout is not known, no process has come to lease a worker.
    if (layout_) leaf::Store(store_).release_workers(options_.worker.owner);
  }

  BenchSubject subject() const override {
    BenchSubject subject{.name = "snowflake", .store = leaf::redact_url(store_.url)};
    if (!layout_) return subject;
    subject.layout = layout_->name();
    const std::chrono::duration<double> unit = layout_->unit();
    subject.ceiling = static_cast<double>(layout_->max_sequence() + 1) / unit.count();
    return subject;
  }

 private:
  const Settings& settings_;
  leaf::StoreOptions store_;
  BenchHost host_;
  BenchPlan plan_;
  leaf::SnowflakeOptions options_;
  std::optional<leaf::Layout> layout_;
};

class BenchSnowflake : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Measures how fast snowflake IDs are made, and compares that with the ceiling set by the layout's "
        "sequence numbers. Each process leases a worker of its own, unless told otherwise, and frees it "
        "afterwards.");
    plan_.declare(command, {.item = "IDs", .batch = true, .verify = true, .host_buffer = true});
    command.add_examples(
        bench_footer("  leafctl bench snowflake\n"
                     "  leafctl bench snowflake --threads 4 --batch 64 --verify\n"
                     "  leafctl bench snowflake --processes 2 -o json | jq .ceiling_share_ppm\n"
                     "  leafctl bench snowflake --processes 2 --host-buffer --verify"));
  }

  std::vector<std::string_view> setting_keys() const override {
    return {"layout", "window", "max_skew", "max_backward", "recycle_after", "group"};
  }

  void run(Session& session) override {
    const BenchPlan plan = plan_.plan();
    SnowflakeBenchmark benchmark(session, plan);
    measure_and_report(plan, benchmark, session);
  }

 private:
  BenchPlanOptions plan_;
};

}  // namespace

std::unique_ptr<Command> make_bench_snowflake() {
  return std::make_unique<BenchSnowflake>();
}

}  // namespace leafctl
