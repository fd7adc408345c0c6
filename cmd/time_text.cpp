#include "time_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "leaf/error.hpp"
#include "numbers.hpp"

namespace leafctl {

namespace {

using leaf::UnixTime;
using std::chrono::milliseconds;

constexpr UnixTime last_time{milliseconds(253'402'300'799'999)};
// From now: a hundred years.
constexpr std::chrono::hours furthest(876'600);

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Reads a text from the left; the first thing that does not fit makes it fail for good.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  // Exactly `digits` digits, as a number.
  unsigned number(std::size_t digits) {
    unsigned value = 0;
    for (std::size_t i = 0; i < digits; ++i) value = value * 10 + (next_is_digit() ? digit() : fail());
    return value;
  }

  bool next_is_digit() const { return !rest_.empty() && is_digit(rest_[0]); }

  // One of `allowed`; returns it.
  char one_of(std::string_view allowed) {
    if (rest_.empty() || allowed.find(rest_[0]) == std::string_view::npos) return static_cast<char>(fail());
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  // The digits behind a decimal point, if there is one, in milliseconds.
  unsigned fraction() {
    if (!rest_.starts_with('.')) return 0;
    rest_.remove_prefix(1);
    if (!next_is_digit()) fail();
    unsigned value = 0;
    for (unsigned weight = 100; next_is_digit(); weight /= 10) value += weight * digit();
    return value;
  }

  void fail_unless(bool condition) {
    if (!condition) fail();
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  unsigned digit() {
    const auto value = static_cast<unsigned>(rest_[0] - '0');
    rest_.remove_prefix(1);
    return value;
  }
  unsigned fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// The offset of a zone, `Z` or `+hh:mm`, from UTC.
std::chrono::minutes zone(Scanner& scanner) {
  const char sign = scanner.one_of("Zz+-");
  if (sign != '+' && sign != '-') return std::chrono::minutes(0);
  const auto hours = scanner.number(2);
  scanner.one_of(":");
  const auto minutes = scanner.number(2);
  scanner.fail_unless(hours < 24 && minutes < 60);
  const auto offset = std::chrono::minutes(hours * 60 + minutes);
  return sign == '+' ? offset : -offset;
}

// The day that RFC 3339 begins with.
std::chrono::year_month_day day_of(Scanner& scanner) {
  const auto year = scanner.number(4);
  scanner.one_of("-");
  const auto month = scanner.number(2);
  scanner.one_of("-");
  const auto day = scanner.number(2);
  return {std::chrono::year(static_cast<int>(year)), std::chrono::month(month), std::chrono::day(day)};
}

// A day alone begins at midnight, UTC.
std::optional<UnixTime> midnight(std::string_view text) {
  Scanner scanner(text);
  const auto day = day_of(scanner);
  if (!scanner.ok() || !scanner.at_end() || !day.ok()) return std::nullopt;
  return std::chrono::sys_days(day);
}

std::optional<UnixTime> rfc3339(std::string_view text) {
  Scanner scanner(text);
  const auto date = day_of(scanner);
  scanner.one_of("Tt ");
  const auto hour = scanner.number(2);
  scanner.one_of(":");
  const auto minute = scanner.number(2);
  scanner.one_of(":");
  const auto second = scanner.number(2);
  const milliseconds fraction(scanner.fraction());
  const auto offset = zone(scanner);
  if (!scanner.ok() || !scanner.at_end() || !date.ok() || hour > 23 || minute > 59 || second > 59) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + fraction - offset;
}

constexpr const char* date_forms =
    "2022-06-28T16:07:40.105Z, 2022-06-28T18:07:40+02:00, 2022-06-28 or Unix milliseconds";

UnixTime checked(std::optional<UnixTime> time, std::string_view name, std::string_view text,
                 const char* forms) {
  if (time && *time >= UnixTime{} && *time <= last_time) return *time;
  throw leaf::Error(leaf::ErrorCode::usage,
                    fmt::format("'{}' takes a time from the year 1970 to 9999, not '{}'", name, text),
                    fmt::format("write it as {}", forms));
}

std::optional<UnixTime> date(std::string_view text) {
  if (const auto time = midnight(text)) return time;
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return rfc3339(text);
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(UnixTime(milliseconds(number))) : std::nullopt;
}

}  // namespace

UnixTime parse_date(std::string_view name, std::string_view text) {
  return checked(date(text), name, text, date_forms);
}

UnixTime parse_time(std::string_view name, std::string_view text, UnixTime now) {
  if (text.starts_with("now-") || text.starts_with("now+")) {
    const auto length = parse_duration(name, text.substr(4), {milliseconds(0), furthest});
    return checked(text[3] == '-' ? now - length : now + length, name, text, date_forms);
  }
  const auto forms = fmt::format("now, now-1h, now-7d, {}", date_forms);
  return checked(text == "now" ? now : date(text), name, text, forms.c_str());
}

UnixTime current_time() {
  return std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
}

}  // namespace leafctl
