#include "leaf/detail/rfc3339.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

namespace leaf::detail {

namespace {

/// Writes `value` in exactly `digits` digits and returns what comes behind them.
template <class Number>
char* write(char* to, int digits, Number value) {
  for (int i = digits; i-- > 0; value /= 10) to[i] = static_cast<char>('0' + value % 10);
  return to + digits;
}

constexpr std::chrono::days cycle(146'097);  // 400 years, after which the calendar repeats

/// `time` in the first cycle, for which the calendar is made; returns the years between.
std::int64_t years_before(UnixTime& time) {
  const auto cycles = std::chrono::floor<std::chrono::days>(time).time_since_epoch() / cycle;
  time -= cycles * cycle;
  return cycles * 400;
}

/// A year that RFC 3339 has no room for, as ISO 8601 and ECMAScript write it: +010000.
std::string format_far(UnixTime time) {
  const std::int64_t years = years_before(time);
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(time));
  const std::int64_t year = years + static_cast<int>(date.year());
  std::string near;
  append_rfc3339(time, near);
  return fmt::format("{}{:06}{}", year < 0 ? '-' : '+', std::abs(year), near.substr(4));
}

constexpr UnixTime year_0{std::chrono::milliseconds(-62'167'219'200'000)};
constexpr UnixTime year_10000{std::chrono::milliseconds(253'402'300'800'000)};

}  // namespace

// By hand, because a million of these are made in a second.
void append_rfc3339(UnixTime time, std::string& text) {
  if (time < year_0 || time >= year_10000) {
    text += format_far(time);
    return;
  }
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char result[] = "0000-00-00T00:00:00.000Z";
  char* to = write(result, 4, static_cast<int>(date.year()));
  to = write(to + 1, 2, static_cast<unsigned>(date.month()));
  to = write(to + 1, 2, static_cast<unsigned>(date.day()));
  to = write(to + 1, 2, clock.hours().count());
  to = write(to + 1, 2, clock.minutes().count());
  to = write(to + 1, 2, clock.seconds().count());
  write(to + 1, 3, clock.subseconds().count());
  text.append(result, sizeof result - 1);
}

std::string format_rfc3339(UnixTime time) {
  std::string text;
  append_rfc3339(time, text);
  return text;
}

}  // namespace leaf::detail
