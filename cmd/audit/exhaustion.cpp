#include "audit/exhaustion.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <string_view>

#include "text/grouped.hpp"

namespace leafctl {

namespace {

using leaf::UnixTime;
using std::chrono::milliseconds;

constexpr const char* finding = "runs_out";
/// What is nearer is worth a warning.
constexpr milliseconds near = std::chrono::years(1);
constexpr std::int64_t last_javascript_number = (std::int64_t{1} << 53) - 1;

struct Limit {
  std::string_view name;
  std::int64_t last;
};

constexpr Limit limits[] = {{"int", std::numeric_limits<std::int32_t>::max()},
                            {"javascript", last_javascript_number},
                            {"bigint", std::numeric_limits<std::int64_t>::max()}};

std::string day(UnixTime time) {
  return fmt::format("{:%Y-%m-%d}", std::chrono::floor<std::chrono::seconds>(time));
}

Measures measures_at(UnixTime time) {
  return {{"unix_ms", std::int64_t{time.time_since_epoch().count()}}};
}

FindingState state_at(UnixTime time, UnixTime now) {
  return time <= now ? FindingState::failed : time < now + near ? FindingState::warning : FindingState::ok;
}

/// When `left` more will have been counted up; none after the year 9999.
std::optional<UnixTime> end_of(double left, double per_ms, UnixTime now) {
  constexpr UnixTime last = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31);
  const double ms = left / per_ms;
  if (ms > static_cast<double>((last - now).count())) return std::nullopt;
  return now + milliseconds(static_cast<std::int64_t>(ms));
}

}  // namespace

Findings layout_exhaustion(const leaf::Layout& layout, std::int64_t greatest, UnixTime now) {
  const UnixTime end = layout.last_time();
  Findings findings{{.name = finding,
                     .state = state_at(end, now),
                     .detail = fmt::format("the time of layout '{}' ends on {}", layout.name(), day(end)),
                     .subject = "layout",
                     .measures = measures_at(end)}};
  const int shift = layout.field("time")->shift();
  const std::int64_t ticks = shift < 53 ? (last_javascript_number >> shift) + 1 : 1;
  if (!layout.ordered_by_time() || ticks > layout.max_ticks()) return findings;
  const UnixTime from = layout.time_at(ticks);
  Finding javascript{.name = finding, .subject = "javascript", .measures = measures_at(from)};
  if (greatest > last_javascript_number) {
    javascript.detail =
        fmt::format("IDs have passed 2^53, since {}: JavaScript needs them as strings", day(from));
  } else {
    javascript.state = from < now + near ? FindingState::warning : FindingState::ok;
    javascript.detail = fmt::format("IDs pass 2^53 on {}: JavaScript needs them as strings then", day(from));
  }
  findings.push_back(javascript);
  return findings;
}

namespace {

std::string percent_of(double share) {
  return share < 1e-4 ? "less than 0.01%" : fmt::format("{:.3g}%", 100 * share);
}

}  // namespace

Findings dense_exhaustion(std::int64_t least, std::int64_t greatest, std::optional<UnixTime> since,
                          UnixTime now) {
  Findings findings;
  for (const auto& [name, last] : limits) {
    if (greatest > last) continue;
    const std::int64_t left = last - greatest;
    const double used = static_cast<double>(greatest) / static_cast<double>(last);
    Finding one{.name = finding,
                .detail = fmt::format("{} of {} used, {} left", percent_of(used), name, grouped(left)),
                .subject = std::string(name),
                .measures = {{"left", left}, {"used", used}}};
    if (since && *since < now && greatest > least) {
      const double per_ms =
          static_cast<double>(greatest - least) / static_cast<double>((now - *since).count());
      one.detail += fmt::format("; at {} a day ", rough_number(per_ms * 86'400'000));
      if (const auto end = end_of(static_cast<double>(left), per_ms, now)) {
        one.detail += "they last until " + day(*end);
        one.state = state_at(*end, now);
        one.measures.push_back(measures_at(*end).front());
      } else {
        one.detail += "they last past the year 9999";
      }
    }
    findings.push_back(one);
  }
  return findings;
}

}  // namespace leafctl
