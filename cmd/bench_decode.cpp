#include <algorithm>
#include <vector>

#include "bench/report.hpp"
#include "cli/declaration.hpp"
#include "commands.hpp"
#include "ids/layout_options.hpp"
#include "leaf/layout.hpp"
#include "text/time_text.hpp"

namespace leafctl {

namespace {

/// IDs of the layout that are not alike: of neighbouring units of time, of many workers and sequence numbers.
std::vector<std::int64_t> sample_ids(const leaf::Layout& layout) {
  constexpr std::int64_t count = 4096;
  const std::int64_t now = layout.ticks_at(std::clamp(current_time(), layout.epoch(), layout.last_time()));
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t ticks = std::max<std::int64_t>(now - i, 0);
    const std::int64_t worker = i * 7 % (layout.max_worker() + 1);
    const std::int64_t sequence = i * 13 % (layout.max_sequence() + 1);
    ids.push_back(layout.compose(ticks, layout.worker_bits(worker), sequence));
  }
  return ids;
}

void keep(const leaf::DecodedId& decoded) {
  asm volatile(""
               :
               : "r"(decoded.time.time_since_epoch().count()), "r"(decoded.worker), "r"(decoded.sequence));
}

class DecodeSource : public BenchSource {
 public:
  explicit DecodeSource(const leaf::Layout& layout) : layout_(layout), ids_(sample_ids(layout)) {}

  void draw(Drawer& drawer) override {
    std::size_t next = 0;
    drawer.run([this, &next](std::int64_t n) {
      std::int64_t id = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        id = ids_[next++ % ids_.size()];
        keep(layout_.decompose(id));
      }
      return leaf::Range{0, n};
    });
  }

 private:
  leaf::Layout layout_;
  std::vector<std::int64_t> ids_;
};

class DecodeBenchmark : public Benchmark {
 public:
  explicit DecodeBenchmark(const leaf::Layout& layout) : layout_(layout) {}

  std::unique_ptr<BenchSource> open() override { return std::make_unique<DecodeSource>(layout_); }
  BenchSubject subject() const override { return {.name = "decode", .layout = layout_.name()}; }
  std::uint64_t time_one_in(std::int64_t batch) const override {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(512 / batch, 1));
  }

 private:
  leaf::Layout layout_;
};

class BenchDecode : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe("Measures how fast snowflake IDs are decoded in memory. Needs no store.");
    plan_.declare(command, {.item = "IDs", .batch = true});
    layout_.declare(command);
    command.add_examples(
        bench_footer("  leafctl bench decode\n"
                     "  leafctl bench decode --layout sonyflake --threads 2 --duration 500ms"));
  }

  void run(Session& session) override {
    DecodeBenchmark benchmark(layout_.layout(session.settings()));
    measure_and_report(plan_.plan(), benchmark, session);
  }

 private:
  BenchPlanOptions plan_;
  LayoutOptions layout_;
};

}  // namespace

std::unique_ptr<Command> make_bench_decode() {
  return std::make_unique<BenchDecode>();
}

}  // namespace leafctl
