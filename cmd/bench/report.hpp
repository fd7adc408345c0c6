#pragma once

#include <string>

#include "bench/plan.hpp"
#include "bench/run.hpp"
#include "cli/command.hpp"

namespace leafctl {

/// The end of a benchmark's help: what all of them print, and its examples.
std::string bench_footer(const char* examples);

/// The keys of a report, which are a contract, and its values.
Keys bench_keys();
Row bench_row(const BenchSubject& subject, const BenchPlan& plan, const BenchResult& result);

/// The report for people.
std::string bench_report(const BenchSubject& subject, const BenchPlan& plan, const BenchResult& result,
                         std::size_t line_width = 80);

/// Runs a benchmark and prints what was measured, also where a signal ended it early. Throws Interrupted
/// then; leaf::Error where it failed or did not verify.
void measure_and_report(const BenchPlan& plan, Benchmark& benchmark, Session& session);

}  // namespace leafctl
