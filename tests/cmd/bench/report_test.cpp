#include "bench/report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include <string>

#include "bench/text.hpp"
#include "terminal/record_text.hpp"

using leafctl::BenchPlan;
using leafctl::BenchResult;
using leafctl::BenchSubject;
using std::chrono::nanoseconds;

namespace {

BenchResult snowflake_result() {
  BenchResult result;
  result.elapsed = std::chrono::milliseconds(500);
  result.calls = 4'000'000;
  result.ids = 4'000'000;
  result.clock_cost = nanoseconds(20);
  for (int i = 0; i < 996; ++i) result.latency.record(nanoseconds(70));
  for (int i = 0; i < 4; ++i) result.latency.record(nanoseconds(600'000));
  result.longest = nanoseconds(2'100'000);
  return result;
}

const BenchSubject snowflake{
    .name = "snowflake", .store = "sqlite:x", .layout = "leaf", .ceiling = 4'096'000.0};

}  // namespace

TEST_CASE("bench report: people see the rate, the ceiling, the latencies and bars") {
  const BenchPlan plan{.processes = 2, .threads = 1, .verify = true};
  CHECK(leafctl::bench_report(snowflake, plan, snowflake_result()) ==
        "bench snowflake, layout leaf: 2 processes of 1 thread, 1 ID a call\n"
        "  4,000,000 IDs in 500 ms: 8,000,000 a second, 125 ns each\n"
        "  97.66% of the layout's ceiling, 8,192,000 a second\n"
        "  verified: no ID repeated, and a later call in a process got higher IDs\n"
        "\n"
        "latency of calls; 1,000 of 4,000,000 were timed, the clock's own 20.0 ns\n"
        "  included\n"
        "  p50      70.0 ns\n"
        "  p90      70.0 ns\n"
        "  p99      70.0 ns\n"
        "  p99.9     600 us\n"
        "  p99.99    600 us\n"
        "  max      2.10 ms\n"
        "\n"
        "  <  100 ns  99.6000%  ##################################################\n"
        "  <  200 ns   0.0000%\n"
        "  <  500 ns   0.0000%\n"
        "  <    1 us   0.0000%\n"
        "  <    2 us   0.0000%\n"
        "  <    5 us   0.0000%\n"
        "  <   10 us   0.0000%\n"
        "  <   20 us   0.0000%\n"
        "  <   50 us   0.0000%\n"
        "  <  100 us   0.0000%\n"
        "  <  200 us   0.0000%\n"
        "  <  500 us   0.0000%\n"
        "  <    1 ms   0.4000%  #\n");
}

TEST_CASE("bench report: a narrow terminal gets the same in shorter lines") {
  const BenchPlan plan{.processes = 2, .threads = 1, .verify = true, .host_buffer = true};
  for (const std::size_t width : {30U, 40U, 60U, 80U}) {
    const std::string report = leafctl::bench_report(snowflake, plan, snowflake_result(), width);
    std::istringstream lines(report);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= width);
    CHECK(report.find("\n  <  100 ns  99.6000%  " + std::string(std::min<std::size_t>(width - 23, 50), '#') +
                      "\n") != std::string::npos);
  }
}

TEST_CASE("bench report: a program gets numbers under keys that stay") {
  const BenchPlan plan{.processes = 2, .threads = 3, .batch = 64, .verify = true};
  CHECK(
      leafctl::json_line(leafctl::bench_keys(), leafctl::bench_row(snowflake, plan, snowflake_result())) ==
      R"({"bench":"snowflake","store":"sqlite:x","tag":null,"layout":"leaf","processes":2,"threads":3,)"
      R"("host_buffer":"no","batch":64,"elapsed_ms":500,"calls":4000000,"ids":4000000,"calls_per_s":8000000,"ids_per_s":8000000,)"
      R"("ceiling_per_s":8192000,"ceiling_share_ppm":976563,"timed_calls":1000,"clock_ns":20,"p50_ns":70,)"
      R"("p90_ns":70,"p99_ns":70,"p99_9_ns":600000,"p99_99_ns":600000,"max_ns":2100000,"violations":0})"
      "\n");
}

TEST_CASE("bench report: processes that share the host's buffer have one ceiling, and one order") {
  const BenchPlan plan{.processes = 2, .threads = 1, .verify = true, .host_buffer = true};
  CHECK(leafctl::bench_report(snowflake, plan, snowflake_result())
            .starts_with("bench snowflake, layout leaf, the host's buffer: 2 processes of 1 thread, 1 ID\n"
                         "  a call\n"
                         "  4,000,000 IDs in 500 ms: 8,000,000 a second, 125 ns each\n"
                         "  195.31% of the layout's ceiling, 4,096,000 a second\n"
                         "  verified: no ID repeated, and a later call on this host got higher IDs\n"));
}

TEST_CASE("bench report: grants are counted by the call") {
  BenchResult result;
  result.elapsed = std::chrono::seconds(2);
  result.calls = 50;
  result.ids = 50'000;
  for (int i = 0; i < 50; ++i) result.latency.record(std::chrono::milliseconds(40));
  result.longest = std::chrono::milliseconds(40);
  const BenchSubject store{.name = "store", .tag = "order", .counts_calls = true};
  const std::string report = leafctl::bench_report(store, {}, result);
  CHECK(
      report.starts_with("bench store, tag order: 1 process of 1 thread\n"
                         "  50 grants of 50,000 IDs in 2.00 s: 25 a second, 40.0 ms each\n\n"
                         "latency of calls; every one was timed"));
  const auto row = leafctl::bench_row(store, {}, result);
  CHECK(row.size() == leafctl::bench_keys().size());
  CHECK(std::holds_alternative<std::monostate>(row.back()));
}

TEST_CASE("bench report: a run that was ended before its start has no rate") {
  CHECK(leafctl::bench_report({.name = "decode"}, {}, {}) ==
        "bench decode: 1 process of 1 thread, 1 ID a call\n  0 IDs in 0.00 ns: 0 a second, 0.00 ns each\n");
}

TEST_CASE("bench report: durations have three digits") {
  using leafctl::short_duration;
  CHECK(short_duration(nanoseconds(0)) == "0.00 ns");
  CHECK(short_duration(std::chrono::duration<double>(5.214e-9)) == "5.21 ns");
  CHECK(short_duration(std::chrono::duration<double>(9.996e-9)) == "10.0 ns");
  CHECK(short_duration(nanoseconds(99'960)) == "100 us");
  CHECK(short_duration(nanoseconds(999'600)) == "1.00 ms");
  CHECK(short_duration(std::chrono::seconds(5'000)) == "5000 s");
}
