#include "bench/report.hpp"
#include "bench/tag.hpp"
#include "cli/declaration.hpp"
#include "commands.hpp"
#include "leaf/store.hpp"

namespace leafctl {

namespace {

/// Each thread has a connection of its own.
class StoreSource : public BenchSource {
 public:
  StoreSource(const leaf::StoreOptions& store, const leaf::TagName& tag) : store_(store), tag_(tag) {}

  void draw(Drawer& drawer) override {
    leaf::Store store(store_);
    drawer.run([&](std::int64_t) { return store.grant_segment(tag_).range; });
  }

 private:
  leaf::StoreOptions store_;
  leaf::TagName tag_;
};

class StoreBenchmark : public Benchmark {
 public:
  StoreBenchmark(const Session& session, BenchTag& tag)
      : store_(tag.store_options(session)), tag_(tag), name_(tag.name()) {}

  leaf::Range prepare() override {
    leaf::Store store(store_);
    return tag_.prepare(store);
  }
  std::unique_ptr<BenchSource> open() override { return std::make_unique<StoreSource>(store_, name_); }
  void clean_up() override { tag_.clean_up(store_); }

  BenchSubject subject() const override {
    return {.name = "store", .store = leaf::redact_url(store_.url), .tag = name_.str(), .counts_calls = true};
  }

 private:
  leaf::StoreOptions store_;
  BenchTag& tag_;
  leaf::TagName name_;
};

class BenchStore : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Measures how fast the store grants segments: one statement each, one after the other on a "
        "connection. "
        "Each thread has a connection of its own.");
    plan_.declare(command, {.item = "grants", .verify = true});
    tag_.declare(command, leaf::default_step);
    command.add_examples(
        bench_footer("  leafctl bench store\n"
                     "  leafctl bench store --threads 8 --store postgresql://db.example.org/ids\n"
                     "  leafctl bench store -n 10000 --verify -o json"));
  }

  void run(Session& session) override {
    StoreBenchmark benchmark(session, tag_);
    measure_and_report(plan_.plan(), benchmark, session);
  }

 private:
  BenchPlanOptions plan_;
  BenchTag tag_;
};

}  // namespace

std::unique_ptr<Command> make_bench_store() {
  return std::make_unique<BenchStore>();
}

}  // namespace leafctl
