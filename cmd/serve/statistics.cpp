#include "serve/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace leafctl::serve {

namespace {

constexpr std::string_view kind_names[kinds] = {"segment", "snowflake", "decode", "bounds",     "status",
                                                "metrics", "health",    "page",   "connection", "unknown"};
constexpr std::string_view outcome_names[outcomes] = {"ok",          "bad_request", "denied",    "not_found",
                                                      "unavailable", "refused",     "exhausted", "failed"};

void head(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

}  // namespace

std::string_view name_of(Protocol protocol) noexcept {
  return protocol == Protocol::http ? "http" : "redis";
}

std::string_view name_of(Kind kind) noexcept {
  return kind_names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Outcome outcome) noexcept {
  return outcome_names[static_cast<std::size_t>(outcome)];
}

void Statistics::count_time(Protocol protocol, Duration each, std::uint64_t number) noexcept {
  const double seconds = std::chrono::duration<double>(each).count();
  const auto bucket = static_cast<std::size_t>(std::ranges::lower_bound(bounds, seconds) - bounds.begin());
  add(times_[index(protocol)][bucket], number);
  add(time_sums_ns_[index(protocol)],
      static_cast<std::uint64_t>(std::max<std::int64_t>(each.count(), 0)) * number);
}

std::string Statistics::metrics(const std::vector<const Statistics*>& all,
                                std::optional<std::uint64_t> lost_log_lines) {
  const auto sum = [&](const std::function<const Counter&(const Statistics&)>& counter) {
    std::uint64_t total = 0;
    for (const Statistics* const one : all) total += counter(*one).load(std::memory_order_relaxed);
    return total;
  };
  std::string text;
  head(text, "leafctl_serve_requests_total", "counter",
       "Requests, by protocol, what was asked for, and outcome.");
  for (std::size_t p = 0; p < protocols; ++p) {
    for (std::size_t k = 0; k < kinds; ++k) {
      for (std::size_t o = 0; o < outcomes; ++o) {
        const std::uint64_t value =
            sum([=](const Statistics& one) -> const Counter& { return one.requests_[p][k][o]; });
        // What draws is there from the start, so that a rate of failures is 0 and not missing.
        if (value == 0 && k > static_cast<std::size_t>(Kind::snowflake)) continue;
        text += fmt::format("leafctl_serve_requests_total{{protocol=\"{}\",kind=\"{}\",outcome=\"{}\"}} {}\n",
                            name_of(static_cast<Protocol>(p)), kind_names[k], outcome_names[o], value);
      }
    }
  }
  head(text, "leafctl_serve_request_seconds", "histogram",
       "How long requests took from when they were read until they were answered.");
  for (std::size_t p = 0; p < protocols; ++p) {
    const std::string_view protocol = name_of(static_cast<Protocol>(p));
    std::uint64_t total = 0;
    for (std::size_t b = 0; b <= bounds.size(); ++b) {
      total += sum([=](const Statistics& one) -> const Counter& { return one.times_[p][b]; });
      text += fmt::format("leafctl_serve_request_seconds_bucket{{protocol=\"{}\",le=\"{}\"}} {}\n", protocol,
                          b < bounds.size() ? fmt::format("{}", bounds[b]) : "+Inf", total);
    }
    const std::uint64_t ns =
        sum([=](const Statistics& one) -> const Counter& { return one.time_sums_ns_[p]; });
    text += fmt::format("leafctl_serve_request_seconds_sum{{protocol=\"{}\"}} {}\n", protocol,
                        static_cast<double>(ns) / 1e9);
    text += fmt::format("leafctl_serve_request_seconds_count{{protocol=\"{}\"}} {}\n", protocol, total);
  }
  head(text, "leafctl_serve_ids_total", "counter", "IDs that were given out.");
  for (std::size_t k = 0; k < 2; ++k)
    text += fmt::format("leafctl_serve_ids_total{{kind=\"{}\"}} {}\n", kind_names[k],
                        sum([=](const Statistics& one) -> const Counter& { return one.ids_[k]; }));
  struct ByProtocol {
    std::string_view name, type, help;
    Counter (Statistics::*counters)[protocols];
  };
  const ByProtocol by_protocol[] = {
      {"leafctl_serve_connections", "gauge", "Connections that are open.", &Statistics::open_},
      {"leafctl_serve_connections_total", "counter", "Connections that were accepted.", &Statistics::opened_},
      {"leafctl_serve_rejected_connections_total", "counter",
       "Connections that were turned away: there were too many.", &Statistics::turned_away_}};
  for (const ByProtocol& metric : by_protocol) {
    head(text, metric.name, metric.type, metric.help);
    for (std::size_t p = 0; p < protocols; ++p)
      text += fmt::format(
          "{}{{protocol=\"{}\"}} {}\n", metric.name, name_of(static_cast<Protocol>(p)),
          sum([&](const Statistics& one) -> const Counter& { return (one.*metric.counters)[p]; }));
  }
  head(text, "leafctl_serve_waiting_requests", "gauge", "Requests for IDs that wait for the store.");
  text += fmt::format("leafctl_serve_waiting_requests {}\n",
                      sum([](const Statistics& one) -> const Counter& { return one.waiting_; }));
  if (lost_log_lines) {
    head(text, "leafctl_serve_lost_log_lines_total", "counter", "Lines that the access log did not take.");
    text += fmt::format("leafctl_serve_lost_log_lines_total {}\n", *lost_log_lines);
  }
  return text;
}

}  // namespace leafctl::serve
