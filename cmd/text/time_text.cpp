#include "text/time_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "leaf/error.hpp"
#include "text/hint.hpp"
#include "text/numbers.hpp"

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

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What to do with digits beyond the milliseconds.
enum class Finer { is_cut_off, is_rounded_up };

// Reads a text from the left. The first part that does not fit makes it fail for good, and is what people are
// told: that is why a time is read here, not by a library, which says of a wrong text only that it is wrong.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), rest_(text) {}

  // Exactly `digits` digits from `lowest` to `highest`, as a number; `what` they are, such as "hour".
  unsigned number(std::string_view what, std::size_t digits, unsigned lowest, unsigned highest) {
    const auto found = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (rest_.empty()) {
      fail(fmt::format("the {} is missing", what));
    } else if (found != digits) {
      fail(fmt::format("'{}' is no {} of {} digits", part(), what, digits == 4 ? "four" : "two"));
    }
    unsigned value = 0;
    for (std::size_t i = 0; ok() && i < digits; ++i) value = value * 10 + digit();
    if (ok() && (value < lowest || value > highest))
      fail(fmt::format("'{:0{}}' is no {}", value, digits, what));
    return value;
  }

  bool next_is_digit() const { return !rest_.empty() && is_digit(rest_[0]); }

  // One of `allowed`, of which people are told the first, or `what` it begins; returns it.
  char one_of(std::string_view allowed, std::string_view what = {}) {
    const std::string wanted = what.empty() ? fmt::format("'{}'", allowed[0]) : std::string(what);
    if (rest_.empty()) {
      fail(fmt::format("{} is missing after '{}'", wanted, done()));
    } else if (allowed.find(rest_[0]) == std::string_view::npos) {
      fail(fmt::format("'{}' after '{}' is not {}", part(), done(), wanted));
    }
    if (!ok()) return '\0';
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  // The digits behind a decimal point, if there is one, in milliseconds.
  unsigned fraction(Finer finer) {
    if (!rest_.starts_with('.')) return 0;
    rest_.remove_prefix(1);
    if (!next_is_digit()) fail(fmt::format("digits are missing after '{}'", done()));
    unsigned value = 0;
    bool is_between = false;
    for (unsigned weight = 100; next_is_digit(); weight /= 10) {
      const unsigned next = digit();
      value += weight * next;
      is_between = is_between || (weight == 0 && next != 0);
    }
    return is_between && finer == Finer::is_rounded_up ? value + 1 : value;
  }

  void end() {
    if (!rest_.empty()) fail(fmt::format("nothing may follow '{}', as '{}' does", done(), rest_));
  }
  void fail(const std::string& mistake) {
    if (ok()) mistake_ = mistake;
    rest_ = {};
  }
  bool ok() const { return mistake_.empty(); }
  const std::string& mistake() const { return mistake_; }
  bool at_end() const { return rest_.empty(); }

 private:
  unsigned digit() {
    const auto value = static_cast<unsigned>(rest_[0] - '0');
    rest_.remove_prefix(1);
    return value;
  }

  std::string_view done() const { return text_.substr(0, text_.size() - rest_.size()); }

  // What comes next and belongs together.
  std::string_view part() const {
    // A T or Z parts what begins with a digit.
    const std::string_view ends = next_is_digit() ? "TtZz" : "";
    std::size_t size = rest_.empty() ? 0 : 1;
    while (size < rest_.size() && (is_digit(rest_[size]) || is_letter(rest_[size])) &&
           ends.find(rest_[size]) == std::string_view::npos) {
      ++size;
    }
    return rest_.substr(0, size);
  }

  std::string_view text_;
  std::string_view rest_;
  std::string mistake_;
};

// The offset of a zone, `Z` or `+hh:mm`, from UTC.
std::chrono::minutes zone(Scanner& scanner) {
  const char sign = scanner.one_of("Zz+-", "a zone such as Z or +02:00");
  if (sign != '+' && sign != '-') return std::chrono::minutes(0);
  const auto hours = scanner.number("hour", 2, 0, 23);
  scanner.one_of(":");
  const auto minutes = scanner.number("minute", 2, 0, 59);
  const auto offset = std::chrono::minutes(hours * 60 + minutes);
  return sign == '+' ? offset : -offset;
}

// The day that RFC 3339 begins with.
std::chrono::year_month_day day_of(Scanner& scanner) {
  const auto year = scanner.number("year", 4, 0, 9999);
  scanner.one_of("-");
  const auto month = scanner.number("month", 2, 1, 12);
  scanner.one_of("-");
  const auto day = scanner.number("day", 2, 1, 31);
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                                         std::chrono::day(day));
  if (scanner.ok() && !date.ok())
    scanner.fail(fmt::format("{:04}-{:02} has no day '{:02}'", year, month, day));
  return date;
}

// A day alone begins at midnight, UTC.
UnixTime rfc3339(Scanner& scanner, Finer finer) {
  const auto date = day_of(scanner);
  if (!scanner.ok()) return {};
  if (scanner.at_end()) return std::chrono::sys_days(date);
  scanner.one_of("Tt ");
  const auto hour = scanner.number("hour", 2, 0, 23);
  scanner.one_of(":");
  const auto minute = scanner.number("minute", 2, 0, 59);
  scanner.one_of(":");
  const auto second = scanner.number("second", 2, 0, 59);
  const milliseconds fraction(scanner.fraction(finer));
  const auto offset = zone(scanner);
  scanner.end();
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + fraction - offset;
}

constexpr const char* date_forms =
    "2022-06-28T16:07:40.105Z, 2022-06-28T18:07:40+02:00, 2022-06-28 or Unix milliseconds";
constexpr const char* word_forms = "now, today, yesterday, tomorrow, now-1h, now-7d";

// A text that people wrote, and what it belongs to.
struct TimeText {
  std::string_view name;
  std::string_view text;
  std::string forms;

  [[noreturn]] void refuse(const std::string& mistake) const {
    throw leaf::Error(
        leaf::ErrorCode::usage,
        fmt::format("'{}' takes a time from the year 1970 to 9999, not '{}': {}", name, text, mistake),
        fmt::format("write it as {}"_hint, forms));
  }

  UnixTime checked(UnixTime time) const {
    if (time < UnixTime{}) refuse("it is before 1970");
    if (time > last_time) refuse("it is after 9999");
    return time;
  }

  UnixTime date(Finer finer) const {
    if (text.empty()) refuse("it is empty");
    if (std::ranges::all_of(text, is_digit)) {
      std::int64_t number = 0;
      const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      return checked(
          UnixTime(milliseconds(error == std::errc{} ? number : std::numeric_limits<std::int64_t>::max())));
    }
    Scanner scanner(text);
    const UnixTime time = rfc3339(scanner, finer);
    if (!scanner.ok()) refuse(scanner.mistake());
    return checked(time);
  }
};

// What a word stands for; a day is its midnight in UTC.
std::optional<UnixTime> time_of_word(std::string_view word, UnixTime now) {
  const auto today = std::chrono::floor<std::chrono::days>(now);
  if (word == "now") return now;
  if (word == "today") return today;
  if (word == "yesterday") return today - std::chrono::days(1);
  if (word == "tomorrow") return today + std::chrono::days(1);
  return std::nullopt;
}

UnixTime parse_time(std::string_view name, std::string_view text, UnixTime now, Finer finer) {
  const TimeText time{name, text, fmt::format("{}, {}", word_forms, date_forms)};
  if (text.empty() || !is_letter(text[0])) return time.date(finer);
  const auto* const end = std::ranges::find_if_not(text, is_letter);
  const std::string_view word(text.begin(), end);
  const std::string_view distance(end, text.end());
  const auto begin = time_of_word(word, now);
  if (!begin) time.refuse(fmt::format("'{}' is neither a date nor now, today, yesterday or tomorrow", word));
  if (distance.empty()) return time.checked(*begin);
  if (distance[0] != '-' && distance[0] != '+') {
    time.refuse(fmt::format("'{}' after '{}' is not an offset such as -1h", distance, word));
  }
  const auto length = parse_duration(name, distance.substr(1), {milliseconds(0), furthest});
  return time.checked(distance[0] == '-' ? *begin - length : *begin + length);
}

}  // namespace

UnixTime parse_date(std::string_view name, std::string_view text) {
  return TimeText{name, text, date_forms}.date(Finer::is_cut_off);
}

UnixTime parse_time(std::string_view name, std::string_view text, UnixTime now) {
  return parse_time(name, text, now, Finer::is_cut_off);
}

UnixTime parse_bound(std::string_view name, std::string_view text, UnixTime now) {
  return parse_time(name, text, now, Finer::is_rounded_up);
}

UnixTime current_time() {
  return std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
}

}  // namespace leafctl
