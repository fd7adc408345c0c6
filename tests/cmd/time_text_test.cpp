#include "time_text.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "leaf/error.hpp"

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
  try {
    parse_time("--time", text, now);
  } catch (const leaf::Error& error) {
    CHECK(error.code() == leaf::ErrorCode::usage);
    CHECK_FALSE(error.hint().empty());
    return error.what();
  }
  return "no error";
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

TEST_CASE("time text: now, a distance from it, and Unix milliseconds are read") {
  CHECK(unix_ms("now") == 1656432460105);
  CHECK(unix_ms("now-1h") == 1656432460105 - 3'600'000);
  CHECK(unix_ms("now+10m") == 1656432460105 + 600'000);
  CHECK(unix_ms("now-7d") == 1656432460105 - 604'800'000);
  CHECK(unix_ms("now-250ms") == 1656432460105 - 250);
  CHECK(unix_ms("0") == 0);
  CHECK(unix_ms("1656432460105") == 1656432460105);
  CHECK(unix_ms("253402300799999") == 253402300799999);
}

TEST_CASE("time text: what is no time is refused by name") {
  for (const std::string text : {"",
                                 " ",
                                 "yesterday",
                                 "Now",
                                 "now ",
                                 "2022-06-28Z",
                                 "2022-06",
                                 "2022-06-31",
                                 "20220628x",
                                 "2022-06-28T16:07:40",
                                 "2022-06-28T16:07Z",
                                 "2022-06-28T16:07:40.Z",
                                 "2022-06-28T16:07:40+0200",
                                 "2022-06-28T16:07:40+24:00",
                                 "2022-06-28T16:07:40+02:60",
                                 "2022-06-28T16:07:40Z ",
                                 " 2022-06-28T16:07:40Z",
                                 "2022-6-28T16:07:40Z",
                                 "2022-13-01T00:00:00Z",
                                 "2022-00-01T00:00:00Z",
                                 "2023-02-29T00:00:00Z",
                                 "2022-06-31T00:00:00Z",
                                 "2022-06-28T24:00:00Z",
                                 "2022-06-28T16:60:00Z",
                                 "2022-06-28T16:07:60Z",
                                 "22-06-28T16:07:40Z",
                                 "-1",
                                 "+5",
                                 "1e12",
                                 "0x10",
                                 "1656432460105.5",
                                 "253402300800000",
                                 "99999999999999999999",
                                 "1969-12-31T23:59:59.999Z",
                                 "1970-01-01T00:00:00+00:01",
                                 "9999-12-31T23:59:59-00:01",
                                 "now-500000h"}) {
    CHECK(error_of(text) == "'--time' takes a time from the year 1970 to 9999, not '" + text + "'");
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
  CHECK_THROWS_AS(parse_date("--epoch", "now-1h"), leaf::Error);
}
