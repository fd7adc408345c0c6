#include "text/numbers.hpp"

#include <doctest/doctest.h>

#include <string>

#include "leaf/error.hpp"
#include "support/error_of.hpp"

using namespace std::chrono_literals;
using leafctl::format_duration;
using leafctl::parse_duration;
using leafctl::parse_integer;

namespace {

constexpr leafctl::IntegerBounds one_to_max{1, 9'223'372'036'854'775'806};
constexpr leafctl::DurationBounds up_to_a_day{1ms, 24h};

}  // namespace

TEST_CASE("numbers: decimal integers up to both bounds are read") {
  CHECK(parse_integer("-n", "1", one_to_max) == 1);
  CHECK(parse_integer("-n", "007", one_to_max) == 7);
  CHECK(parse_integer("-n", "9223372036854775806", one_to_max) == 9'223'372'036'854'775'806);
  CHECK(parse_integer("--x", "-5", {-5, 5}) == -5);
}

TEST_CASE(
    "numbers: what is no plain decimal integer within the bounds is refused, and the bounds are named") {
  for (const char* text : {"", "0", "-5", "+5", " 5", "5 ", "1e6", "0x10", "1.0", "1,000", "5k", "abc", "--5",
                           "9223372036854775807", "99999999999999999999", "٣"}) {
    CAPTURE(text);
    const std::string message =
        "'-n' takes a number from 1 to 9223372036854775806, not '" + std::string(text) + "'";
    CHECK_THROWS_WITH_AS(parse_integer("-n", text, one_to_max), message.c_str(), leaf::Error);
  }
  CHECK_THROWS_AS(parse_integer("-n", std::string_view("5\0", 2), one_to_max), leaf::Error);
}

TEST_CASE("numbers: a refusal is a usage error") {
  try {
    parse_integer("-n", "x", one_to_max);
    FAIL("nothing was thrown");
  } catch (const leaf::Error& error) {
    CHECK(error.code() == leaf::ErrorCode::usage);
  }
}

TEST_CASE("numbers: durations are read in each unit") {
  CHECK(parse_duration("--timeout", "250ms", up_to_a_day) == 250ms);
  CHECK(parse_duration("--timeout", "5s", up_to_a_day) == 5s);
  CHECK(parse_duration("--timeout", "10m", up_to_a_day) == 10min);
  CHECK(parse_duration("--timeout", "24h", up_to_a_day) == 24h);
  CHECK(parse_duration("--timeout", "1d", up_to_a_day) == 24h);
}

TEST_CASE("numbers: nothing is a duration without a unit too, where it is allowed") {
  for (const char* text : {"0", "0ms", "0s", "0d", "00"})
    CHECK(parse_duration("--timeout", text, {0ms, 24h}) == 0ms);
  CHECK_THROWS_WITH_AS(parse_duration("--timeout", "5", {0ms, 24h}),
                       "'--timeout' takes a duration from 0ms to 24h, not '5'", leaf::Error);
}

TEST_CASE("numbers: a duration without unit, with another one, out of bounds or past 64 bits is refused") {
  for (const char* text : {"", "5", "s", "5 s", "-5s", "+5s", "1.5s", "5S", "5sec", "5s5s", "2d", "1w", "0s",
                           "0ms", "25h", "86400001ms", "9223372036854775807h", "99999999999999999999ms"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_duration("--timeout", text, up_to_a_day), leaf::Error);
  }
  CHECK_THROWS_WITH(parse_duration("--timeout", "5", up_to_a_day),
                    "'--timeout' takes a duration from 1ms to 24h, not '5'");
}

TEST_CASE("numbers: a duration is written in the largest unit up to hours that keeps it exact") {
  CHECK(format_duration(0ms) == "0ms");
  CHECK(format_duration(1500ms) == "1500ms");
  CHECK(format_duration(5000ms) == "5s");
  CHECK(format_duration(90s) == "90s");
  CHECK(format_duration(60min) == "1h");
  CHECK(format_duration(48h) == "48h");
}

TEST_CASE("sizes are whole numbers of bytes, or of units of 1024") {
  const leafctl::IntegerBounds bounds{1024, std::int64_t{1} << 40};
  const auto size = [&](std::string_view text) { return leafctl::parse_size("--memory", text, bounds); };
  CHECK(size("1024") == 1024);
  CHECK(size("64K") == 64 * 1024);
  CHECK(size("3M") == 3 << 20);
  CHECK(size("1T") == std::int64_t{1} << 40);
  for (const char* text : {"", "K", "1", "1k", "1.5G", "-1G", "2T", "9999999999G", "1 G", "0x10G"}) {
    CAPTURE(text);
    CHECK(leaf::test::error_text([&] { static_cast<void>(size(text)); }) ==
          "'--memory' takes a size from 1K to 1T, not '" + std::string(text) + "' | ");
  }
  for (const std::int64_t bytes : {0LL, 1LL, 1023LL, 1025LL, 1LL << 20, 1LL << 50}) {
    CHECK(leafctl::parse_size("x", leafctl::format_size(bytes), {0, INT64_MAX}) == bytes);
  }
}
