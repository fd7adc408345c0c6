#include "rfc3339.hpp"

#include <chrono>

namespace leafctl {

namespace {

/// Writes `value` in exactly `digits` digits and returns what comes behind them.
template <class Number>
char* write(char* to, int digits, Number value) {
  for (int i = digits; i-- > 0; value /= 10) to[i] = static_cast<char>('0' + value % 10);
  return to + digits;
}

}  // namespace

// By hand, because a million of these are made in a second.
void append_rfc3339(leaf::UnixTime time, std::string& text) {
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

std::string format_rfc3339(leaf::UnixTime time) {
  std::string text;
  append_rfc3339(time, text);
  return text;
}

}  // namespace leafctl
