#include "bench/run.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/report.hpp"
#include "bench/shared_array.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/output_file.hpp"

namespace {

using leafctl::BenchPlan;
using leafctl::BenchResult;
using leafctl::Drawer;

/// Counts up, in memory that all processes share.
struct Counters {
  std::atomic<std::int64_t> next{1};
  std::atomic<int> opened{0};
  std::atomic<int> closed{0};
};

class Counting : public leafctl::Benchmark {
 public:
  using Draw = std::int64_t (*)(Counters&);

  explicit Counting(Draw draw = [](Counters& counters) { return counters.next.fetch_add(1); })
      : draw_(draw) {}

  leaf::Range prepare() override {
    prepared = true;
    if (prepare_fails) throw leaf::Error(leaf::ErrorCode::exhausted, "nothing to prepare");
    return {1, 1'000'000};
  }
  std::unique_ptr<leafctl::BenchSource> open() override { return std::make_unique<Source>(*this); }
  leafctl::BenchSubject subject() const override { return {.name = "counting"}; }
  void clean_up() override { cleaned_up = true; }

  bool prepare_fails = false;
  bool prepared = false;
  bool cleaned_up = false;
  Counters& counters() { return shared_[0]; }

 private:
  class Source : public leafctl::BenchSource {
   public:
    explicit Source(Counting& benchmark) : benchmark_(benchmark) { ++benchmark_.counters().opened; }
    ~Source() override { ++benchmark_.counters().closed; }
    void draw(Drawer& drawer) override {
      drawer.run([this](std::int64_t n) {
        std::vector<std::int64_t> ids;
        for (; n > 0; --n) ids.push_back(benchmark_.draw_(benchmark_.counters()));
        drawn_ = ids;
        return std::span<const std::int64_t>(drawn_);
      });
    }

   private:
    Counting& benchmark_;
    static thread_local std::vector<std::int64_t> drawn_;
  };

  leafctl::SharedArray<Counters> shared_{1};
  Draw draw_;
};

thread_local std::vector<std::int64_t> Counting::Source::drawn_;

BenchResult run(const BenchPlan& plan, Counting& benchmark) {
  leafctl::OutputFile file(STDERR_FILENO, "standard error");
  leafctl::Messages messages(file);
  const leafctl::InterruptGuard guard;
  return leafctl::run_benchmark(plan, benchmark, messages);
}

}  // namespace

TEST_CASE("bench: the threads of all processes together draw just as many as asked for") {
  for (const std::int64_t count : {1, 6, 1'000, 12'345}) {
    for (const std::int64_t batch : {1, 7}) {
      CAPTURE(count);
      CAPTURE(batch);
      Counting benchmark;
      const BenchPlan plan{.processes = 2, .threads = 3, .batch = batch, .count = count, .verify = true};
      const BenchResult result = run(plan, benchmark);
      CHECK_FALSE(result.failure);
      CHECK(result.ids == static_cast<std::uint64_t>(count));
      CHECK(result.latency.count() <= result.calls);
      CHECK(result.longest >= result.latency.max());
      // Each thread's first batch is drawn before the start.
      CHECK(benchmark.counters().next == 1 + count + 6 * batch);
      CHECK(benchmark.counters().opened == 2);
      CHECK(benchmark.counters().closed == 2);
    }
  }
}

TEST_CASE("bench: every call of a short run is timed") {
  Counting benchmark;
  const BenchResult result = run({.threads = 2, .count = 5'000}, benchmark);
  CHECK(result.calls == 5'000);
  CHECK(result.latency.count() == 5'000);
}

TEST_CASE("bench: a run by duration ends by itself") {
  Counting benchmark;
  const BenchResult result = run({.threads = 2, .duration = std::chrono::milliseconds(20)}, benchmark);
  CHECK_FALSE(result.failure);
  CHECK(result.signal == 0);
  CHECK(benchmark.counters().closed == 1);
}

TEST_CASE("bench --verify: what processes draw twice is found") {
  Counting benchmark([](Counters& counters) {
    const std::int64_t id = counters.next.fetch_add(1);
    return id == 700 ? 300 : id;
  });
  const BenchResult result = run({.processes = 2, .count = 1'000, .verify = true}, benchmark);
  CHECK_FALSE(result.failure);
  REQUIRE(result.violations.count() >= 1);
  bool named = false;
  for (const auto& violation : result.violations.first())
    named |= violation.text() == "ID 300 was drawn twice";
  CHECK(named);
}

TEST_CASE("bench: a failure ends all threads and processes, and is told") {
  Counting benchmark([](Counters& counters) {
    const std::int64_t id = counters.next.fetch_add(1);
    if (id == 5'000) throw leaf::Error(leaf::ErrorCode::exhausted, "no more than 5000", "ask for fewer");
    return id;
  });
  const BenchResult result =
      run({.processes = 2, .threads = 2, .duration = std::chrono::hours(1)}, benchmark);
  REQUIRE(result.failure);
  CHECK(result.failure->code() == leaf::ErrorCode::exhausted);
  CHECK(std::string(result.failure->what()) == "no more than 5000");
  CHECK(result.failure->hint() == "ask for fewer");
  CHECK(benchmark.cleaned_up);
  CHECK(benchmark.counters().closed == 2);
}

TEST_CASE("bench: a failure of the first call ends the run before its start") {
  Counting benchmark([](Counters&) -> std::int64_t { throw std::runtime_error("not one"); });
  const BenchResult result = run({.threads = 3, .duration = std::chrono::hours(1)}, benchmark);
  REQUIRE(result.failure);
  CHECK(std::string(result.failure->what()) == "not one");
  CHECK(result.ids == 0);
  CHECK(result.elapsed == std::chrono::nanoseconds(0));
}

TEST_CASE("bench: where nothing could be prepared no process draws, and all is cleaned up") {
  Counting benchmark;
  benchmark.prepare_fails = true;
  const BenchResult result = run({.processes = 3, .duration = std::chrono::hours(1)}, benchmark);
  REQUIRE(result.failure);
  CHECK(result.failure->code() == leaf::ErrorCode::exhausted);
  CHECK(benchmark.counters().opened == 0);
  CHECK(benchmark.cleaned_up);
}

TEST_CASE("bench: a process that is killed fails the run") {
  Counting benchmark([](Counters& counters) {
    const std::int64_t id = counters.next.fetch_add(1);
    if (id == 5'000) raise(SIGKILL);
    return id;
  });
  const BenchResult result = run({.processes = 2, .duration = std::chrono::hours(1)}, benchmark);
  REQUIRE(result.failure);
  CHECK(std::string(result.failure->what()) == "a process of the benchmark was killed");
}

TEST_CASE("bench: a signal ends the run early, with what there is so far") {
  static pid_t starter;
  starter = getpid();
  Counting benchmark([](Counters& counters) {
    const std::int64_t id = counters.next.fetch_add(1);
    if (id == 50'000) kill(starter, SIGINT);
    return id;
  });
  const BenchResult result = run({.processes = 2, .duration = std::chrono::hours(1)}, benchmark);
  CHECK(result.signal == SIGINT);
  CHECK_FALSE(result.failure);
  CHECK(result.ids > 40'000);
  CHECK(benchmark.cleaned_up);
}

TEST_CASE("bench: a run that a signal ends before its start ends by the signal, and says what failed") {
  class Interrupted : public Counting {
   public:
    leaf::Range prepare() override {
      raise(SIGINT);
      throw leaf::Error(leaf::ErrorCode::unavailable, "the store did not answer");
    }
  };
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  Interrupted benchmark;
  int signal = 0;
  {
    leafctl::OutputFile file(ends[1], "a pipe");
    leafctl::Messages messages(file);
    leafctl::Output output(file, leafctl::OutputFormat::text, false);
    const leafctl::Configuration configuration{};
    leafctl::Session session{.configuration = configuration, .output = output, .messages = messages};
    try {
      leafctl::measure_and_report({}, benchmark, session);
    } catch (const leafctl::Interrupted& interrupted) {
      signal = interrupted.signal;
    } catch (const leaf::Error&) {
    }
  }
  close(ends[1]);
  std::string said(1000, ' ');
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(ends[0], said.data(), said.size()))));
  close(ends[0]);
  CHECK(signal == SIGINT);
  CHECK(said == "leafctl: the store did not answer\n");
  CHECK(benchmark.cleaned_up);
}
