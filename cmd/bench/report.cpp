#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/text.hpp"
#include "tags/meant_tag.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/remedy_text.hpp"
#include "text/grouped.hpp"
#include "text/line_wrap.hpp"

namespace leafctl {

namespace {

struct Quantile {
  const char* key;
  const char* name;
  double share;
};
constexpr Quantile quantiles[] = {{"p50_ns", "p50", 0.5},
                                  {"p90_ns", "p90", 0.9},
                                  {"p99_ns", "p99", 0.99},
                                  {"p99_9_ns", "p99.9", 0.999},
                                  {"p99_99_ns", "p99.99", 0.9999}};

std::int64_t rounded(double number) {
  return std::llround(number);
}

Cell text_or_nothing(const std::optional<std::string>& text) {
  return text ? Cell(*text) : Cell();
}

/// What the layout allows all processes together: a worker for each, or one for the host.
std::optional<double> ceiling(const BenchSubject& subject, const BenchPlan& plan) {
  if (!subject.ceiling) return std::nullopt;
  return *subject.ceiling * static_cast<double>(plan.buffers());
}

std::string headline(const BenchSubject& subject, const BenchPlan& plan) {
  std::string line = "bench " + subject.name;
  if (subject.tag) line += fmt::format(", tag {}", *subject.tag);
  if (subject.layout) line += fmt::format(", layout {}", *subject.layout);
  if (plan.host_buffer) line += ", the host's buffer";
  line += fmt::format(": {} {} of {} {}", plan.processes, plan.processes == 1 ? "process" : "processes",
                      plan.threads, plan.threads == 1 ? "thread" : "threads");
  return line + (subject.counts_calls
                     ? "\n"
                     : fmt::format(", {} {} a call\n", plan.batch, plan.batch == 1 ? "ID" : "IDs"));
}

std::string rate_line(const BenchSubject& subject, const BenchResult& result) {
  const std::uint64_t items = subject.counts_calls ? result.calls : result.ids;
  const auto each = items == 0 ? result.elapsed : result.elapsed / static_cast<double>(items);
  std::string what = grouped(items) + (subject.counts_calls ? " grants" : " IDs");
  if (subject.counts_calls) what += fmt::format(" of {} IDs", grouped(result.ids));
  return fmt::format("  {} in {}: {} a second, {} each\n", what, short_duration(result.elapsed),
                     grouped(static_cast<std::uint64_t>(rounded(result.per_second(items)))),
                     short_duration(each));
}

/// Narrower ones would show nothing.
constexpr std::size_t narrowest_bar = 5;
constexpr std::size_t widest_bar = 50;
constexpr std::size_t before_bar = 23;

std::string latency_lines(const BenchResult& result, std::size_t line_width) {
  const LatencyHistogram& latency = result.latency;
  if (latency.count() == 0) return "";
  const std::string which =
      latency.count() == result.calls
          ? "every one was timed"
          : fmt::format("{} of {} were timed", grouped(latency.count()), grouped(result.calls));
  std::string lines = fmt::format("\nlatency of calls; {}, the clock's own {} included\n", which,
                                  short_duration(result.clock_cost));
  for (const Quantile& quantile : quantiles) {
    lines += fmt::format("  {:<7} {:>8}\n", quantile.name, short_duration(latency.quantile(quantile.share)));
  }
  return lines + fmt::format("  {:<7} {:>8}\n\n", "max", short_duration(result.longest)) +
         bars(latency,
              std::clamp(line_width, before_bar + narrowest_bar, before_bar + widest_bar) - before_bar);
}

leaf::Error not_verified(const BenchResult& result) {
  std::string what = fmt::format("{} of {} IDs did not verify", result.violations.count(), result.ids);
  const char* separator = ": ";
  for (const Violation& violation : result.violations.first()) {
    what += separator + violation.text();
    separator = "; ";
  }
  if (result.violations.first().size() < result.violations.count()) what += "; and so on";
  return {leaf::ErrorCode::failed, what};
}

}  // namespace

std::string bench_footer(const char* examples) {
  return fmt::format(
      "Prints a report with a histogram on a terminal, an object with -o json, and in a\n"
      "pipe a tab-separated line: bench, store, tag, layout, processes, threads,\n"
      "host_buffer, batch, elapsed_ms, calls, ids, calls_per_s, ids_per_s,\n"
      "ceiling_per_s, ceiling_share_ppm, timed_calls, clock_ns, p50_ns, p90_ns, p99_ns,\n"
      "p99_9_ns, p99_99_ns, max_ns, violations.\n\n"
      "Latencies are of single calls and at most 0.8% too high. Of calls that take\n"
      "nanoseconds only a random sample is timed, so that reading the clock does not\n"
      "count. Ctrl-C ends the run and prints the results so far.\n\n"
      "Examples:\n"
      "{}",
      examples);
}

Keys bench_keys() {
  static constexpr const char* keys[] = {
      "bench",       "store",       "tag",       "layout",        "processes",
      "threads",     "host_buffer", "batch",     "elapsed_ms",    "calls",
      "ids",         "calls_per_s", "ids_per_s", "ceiling_per_s", "ceiling_share_ppm",
      "timed_calls", "clock_ns",    "p50_ns",    "p90_ns",        "p99_ns",
      "p99_9_ns",    "p99_99_ns",   "max_ns",    "violations"};
  return keys;
}

Row bench_row(const BenchSubject& subject, const BenchPlan& plan, const BenchResult& result) {
  const auto number = [](std::uint64_t count) -> Cell { return static_cast<std::int64_t>(count); };
  const auto most = ceiling(subject, plan);
  Row row{subject.name,
          text_or_nothing(subject.store),
          text_or_nothing(subject.tag),
          text_or_nothing(subject.layout),
          plan.processes,
          plan.threads,
          std::string(plan.host_buffer ? "yes" : "no"),
          subject.counts_calls ? Cell() : plan.batch,
          std::chrono::round<std::chrono::milliseconds>(result.elapsed),
          number(result.calls),
          number(result.ids),
          rounded(result.per_second(result.calls)),
          rounded(result.per_second(result.ids)),
          most ? Cell(rounded(*most)) : Cell(),
          most ? Cell(rounded(1e6 * result.per_second(result.ids) / *most)) : Cell(),
          number(result.latency.count()),
          std::int64_t{result.clock_cost.count()}};
  for (const Quantile& quantile : quantiles)
    row.emplace_back(std::int64_t{result.latency.quantile(quantile.share).count()});
  row.emplace_back(std::int64_t{result.longest.count()});
  row.push_back(plan.verify ? number(result.violations.count()) : Cell());
  return row;
}

std::string bench_report(const BenchSubject& subject, const BenchPlan& plan, const BenchResult& result,
                         std::size_t line_width) {
  std::string report = headline(subject, plan) + rate_line(subject, result);
  if (const auto most = ceiling(subject, plan)) {
    report += fmt::format("  {:.2f}% of the layout's ceiling, {} a second\n",
                          100 * result.per_second(result.ids) / *most,
                          grouped(static_cast<std::uint64_t>(rounded(*most))));
  }
  if (plan.verify && result.violations.count() == 0) {
    report += fmt::format("  verified: no ID repeated, and a later call {} got higher IDs\n",
                          plan.host_buffer ? "on this host" : "in a process");
  }
  return fold(report + latency_lines(result, line_width), line_width);
}

void measure_and_report(const BenchPlan& plan, Benchmark& benchmark, Session& session) {
  const BenchResult result = [&] {
    const InterruptGuard guard;
    return run_benchmark(plan, benchmark, session.messages);
  }();
  session.messages.progress("");
  if (result.left_over) session.messages.warning(result.left_over->what(), hint_text(*result.left_over));
  const BenchSubject subject = benchmark.subject();
  if (result.failure && result.signal != 0) {
    session.messages.error(*result.failure);
    throw Interrupted{result.signal};
  }
  if (result.failure && subject.tag)
    throw with_meant_tag(*result.failure, leaf::TagName(*subject.tag), session, NewTag::proposed);
  if (result.failure) throw leaf::Error(*result.failure);
  if (session.output.format() == OutputFormat::text && session.output.is_terminal()) {
    session.output.print_text(bench_report(subject, plan, result, session.output.prose_width()));
  } else {
    session.output.print_one(bench_keys(), bench_row(subject, plan, result));
  }
  session.output.flushed_file();
  if (result.violations.count() != 0) throw not_verified(result);
  if (result.signal != 0) throw Interrupted{result.signal};
}

}  // namespace leafctl
