#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "bench/host.hpp"
#include "bench/report.hpp"
#include "bench/tag.hpp"
#include "cli/declaration.hpp"
#include "commands.hpp"
#include "leaf/segment.hpp"

namespace leafctl {

namespace {

class SegmentSource : public BenchSource {
 public:
  SegmentSource(const leaf::StoreOptions& store, const std::optional<leaf::HostOptions>& host,
                const leaf::TagName& tag, std::int64_t batch)
      : allocator_(store, {.timeout = store.timeout, .host = host}),
        tag_(allocator_.tag(tag)),
        batch_(batch) {}

  void draw(Drawer& drawer) override {
    leaf::SegmentTag tag = tag_;
    if (batch_ == 1) {
      drawer.run([&tag](std::int64_t) { return tag.next(); });
      return;
    }
    std::vector<std::int64_t> ids(static_cast<std::size_t>(batch_));
    drawer.run([&](std::int64_t n) {
      const auto drawn = std::span(ids).first(static_cast<std::size_t>(n));
      tag.next(drawn);
      return std::span<const std::int64_t>(drawn);
    });
  }

 private:
  leaf::SegmentAllocator allocator_;
  leaf::SegmentTag tag_;
  std::int64_t batch_;
};

class SegmentBenchmark : public Benchmark {
 public:
  SegmentBenchmark(const Session& session, BenchTag& tag, const BenchPlan& plan)
      : store_(tag.store_options(session)),
        host_(session, plan),
        tag_(tag),
        name_(tag.name()),
        batch_(plan.batch) {}

  leaf::Range prepare() override {
    leaf::Store store(store_);
    return tag_.prepare(store);
  }
  std::unique_ptr<BenchSource> open() override {
    return std::make_unique<SegmentSource>(store_, host_.options(), name_, batch_);
  }
  void clean_up() override {
    host_.clean_up();
    tag_.clean_up(store_);
  }

  BenchSubject subject() const override {
    return {.name = "segment", .store = leaf::redact_url(store_.url), .tag = name_.str()};
  }
  std::uint64_t time_one_in(std::int64_t batch) const override {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(512 / batch, 1));
  }

 private:
  leaf::StoreOptions store_;
  BenchHost host_;
  BenchTag& tag_;
  leaf::TagName name_;
  std::int64_t batch_;
};

class BenchSegment : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Measures how fast IDs of a tag are drawn from memory, with segments fetched from the store as "
        "usual. "
        "Each process has a buffer of its own, unless told otherwise.");
    plan_.declare(command, {.item = "IDs", .batch = true, .verify = true, .host_buffer = true});
    tag_.declare(command, leaf::max_step);
    command.add_examples(
        bench_footer("  leafctl bench segment\n"
                     "  leafctl bench segment --threads 2 --batch 64 --duration 10s\n"
                     "  leafctl bench segment --processes 4 -n 100000000 --verify -o json\n"
                     "  leafctl bench segment --processes 2 --host-buffer"));
  }

  std::vector<std::string_view> setting_keys() const override { return {"group"}; }

  void run(Session& session) override {
    const BenchPlan plan = plan_.plan();
    SegmentBenchmark benchmark(session, tag_, plan);
    measure_and_report(plan, benchmark, session);
  }

 private:
  BenchPlanOptions plan_;
  BenchTag tag_;
};

}  // namespace

std::unique_ptr<Command> make_bench_segment() {
  return std::make_unique<BenchSegment>();
}

}  // namespace leafctl
