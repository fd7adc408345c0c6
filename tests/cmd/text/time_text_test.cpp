#include "text/time_text.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "leaf/error.hpp"
#include "support/usage_error.hpp"

using leafctl::parse_date;
using leafctl::parse_time;

namespace {

leaf::UnixTime at(std::int64_t unix_ms) {
  return leaf::UnixTime(std::chrono::milliseconds(unix_ms));
}

const leaf::UnixTime now = at(1656432460105);

std::int64_t unix_ms(const std::string& text) {
  return parse_time("--time", text, now).time_since_epoch().count();
}

std::string error_of(const std::string& text) {
  return leaf::test::hinted_usage_error([&] { parse_time("--time", text, now); });
}

}  // namespace

TEST_CASE("time text: RFC 3339 is read in every zone") {
  const std::pair<std::string, std::int64_t> times[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"2022-06-28T16:07:40.105Z", 1656432460105},
      {"2022-06-28t16:07:40.105z", 1656432460105},
      {"2022-06-28 16:07:40.105Z", 1656432460105},
      {"2022-06-28T18:07:40.105+02:00", 1656432460105},
      {"2022-06-28T10:37:40.105-05:30", 1656432460105},
      {"2022-06-28T16:07:40Z", 1656432460000},
      {"2022-06-28T16:07:40.1Z", 1656432460100},
      {"2022-06-28T16:07:40.105999999999Z", 1656432460105},
      {"2024-02-29T00:00:00Z", 1709164800000},
      {"9999-12-31T23:59:59.999Z", 253402300799999},
      {"1970-01-01", 0},
      {"2022-06-28", 1656374400000},
      {"2024-02-29", 1709164800000},
  };
  for (const auto& [text, expected] : times) {
    CHECK(unix_ms(text) == expected);
    CHECK(parse_date("--epoch", text) == at(expected));
  }
}

TEST_CASE("time text: a bound between two milliseconds is the later one, any other is read as a time") {
  const std::pair<std::string, std::int64_t> bounds[] = {
      {"2022-06-28T16:07:40.105000000Z", 1656432460105},
      {"2022-06-28T16:07:40.105000001Z", 1656432460106},
      {"2022-06-28T18:07:40.1059+02:00", 1656432460106},
      {"2022-06-28T16:07:40.9995Z", 1656432461000},
      {"2022-06-28", 1656374400000},
      {"1656432460105", 1656432460105},
      {"now-1ms", 1656432460104},
  };
  for (const auto& [text, expected] : bounds)
    CHECK(leafctl::parse_bound("--from", text, now) == at(expected));
}

TEST_CASE("time text: now, a distance from it, and Unix milliseconds are read") {
  CHECK(unix_ms("now") == 1656432460105);
  CHECK(unix_ms("now-1h") == 1656432460105 - 3'600'000);
  CHECK(unix_ms("now+10m") == 1656432460105 + 600'000);
  CHECK(unix_ms("now-7d") == 1656432460105 - 604'800'000);
  CHECK(unix_ms("now-250ms") == 1656432460105 - 250);
  CHECK(unix_ms("today") == 1656374400000);
  CHECK(unix_ms("yesterday") == 1656374400000 - 86'400'000);
  CHECK(unix_ms("tomorrow") == 1656374400000 + 86'400'000);
  CHECK(unix_ms("today-7d") == 1656374400000 - 604'800'000);
  CHECK(unix_ms("yesterday+8h") == 1656374400000 - 57'600'000);
  CHECK(unix_ms("0") == 0);
  CHECK(unix_ms("1656432460105") == 1656432460105);
  CHECK(unix_ms("253402300799999") == 253402300799999);
}

TEST_CASE("time text: what is no time is refused, and the part that is not understood is named") {
  const std::pair<std::string, std::string> texts[] = {
      {"", "it is empty"},
      {" ", "' ' is no year of four digits"},
      {"yesterdy", "'yesterdy' is neither a date nor now, today, yesterday or tomorrow"},
      {"last tuesday", "'last' is neither a date nor now, today, yesterday or tomorrow"},
      {"Now", "'Now' is neither a date nor now, today, yesterday or tomorrow"},
      {"now ", "' ' after 'now' is not an offset such as -1h"},
      {"today 8:00", "' 8:00' after 'today' is not an offset such as -1h"},
      {"2022-06-28Z", "'Z' after '2022-06-28' is not 'T'"},
      {"2022-06-28 noon", "'noon' is no hour of two digits"},
      {"2022-06", "'-' is missing after '2022-06'"},
      {"2022-06-", "the day is missing"},
      {"2022/06/28", "'/06' after '2022' is not '-'"},
      {"2022-06-31", "2022-06 has no day '31'"},
      {"2022-06-00", "'00' is no day"},
      {"20220628x", "'20220628x' is no year of four digits"},
      {"2022-06-28T16:07:40", "a zone such as Z or +02:00 is missing after '2022-06-28T16:07:40'"},
      {"2022-06-28T16:07:40 CET", "' CET' after '2022-06-28T16:07:40' is not a zone such as Z or +02:00"},
      {"2022-06-28T16:07Z", "'Z' after '2022-06-28T16:07' is not ':'"},
      {"2022-06-28T16:07:40.Z", "digits are missing after '2022-06-28T16:07:40.'"},
      {"2022-06-28T16:07:40+0200", "'0200' is no hour of two digits"},
      {"2022-06-28T16:07:40+24:00", "'24' is no hour"},
      {"2022-06-28T16:07:40+02:60", "'60' is no minute"},
      {"2022-06-28T16:07:40Z ", "nothing may follow '2022-06-28T16:07:40Z', as ' ' does"},
      {" 2022-06-28T16:07:40Z", "' 2022' is no year of four digits"},
      {"2022-6-28T16:07:40Z", "'6' is no month of two digits"},
      {"2022-13-01T00:00:00Z", "'13' is no month"},
      {"2022-00-01T00:00:00Z", "'00' is no month"},
      {"2023-02-29T00:00:00Z", "2023-02 has no day '29'"},
      {"2022-06-31T00:00:00Z", "2022-06 has no day '31'"},
      {"2022-06-28T24:00:00Z", "'24' is no hour"},
      {"2022-06-28T16:60:00Z", "'60' is no minute"},
      {"2022-06-28T16:07:60Z", "'60' is no second"},
      {"22-06-28T16:07:40Z", "'22' is no year of four digits"},
      {"-1", "'-1' is no year of four digits"},
      {"+5", "'+5' is no year of four digits"},
      {"1e12", "'1e12' is no year of four digits"},
      {"0x10", "'0x10' is no year of four digits"},
      {"1656432460105.5", "'1656432460105' is no year of four digits"},
      {"253402300800000", "it is after 9999"},
      {"99999999999999999999", "it is after 9999"},
      {"1969-12-31T23:59:59.999Z", "it is before 1970"},
      {"1970-01-01T00:00:00+00:01", "it is before 1970"},
      {"9999-12-31T23:59:59-00:01", "it is after 9999"},
      {"now-500000h", "it is before 1970"}};
  for (const auto& [text, mistake] : texts) {
    CHECK(error_of(text) ==
          "'--time' takes a time from the year 1970 to 9999, not '" + text + "': " + mistake);
  }
}

TEST_CASE("time text: a distance from now is a duration") {
  for (const std::string length :
       {"", "1", "h", "-1h", "1.5d", "36526d", "1.5h", "876601h", "99999999999999999999h"}) {
    CHECK(error_of("now-" + length) == "'--time' takes a duration from 0ms to 876600h, not '" + length + "'");
  }
}

TEST_CASE("time text: a date is not counted from now") {
  CHECK_THROWS_AS(parse_date("--epoch", "now"), leaf::Error);
  CHECK_THROWS_AS(parse_date("--epoch", "today"), leaf::Error);
  CHECK_THROWS_AS(parse_date("--epoch", "now-1h"), leaf::Error);
}
