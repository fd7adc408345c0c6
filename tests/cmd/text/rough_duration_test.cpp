#include "text/rough_duration.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using leafctl::rough_distance;
using leafctl::rough_duration;

TEST_CASE("rough duration: it is told in its two largest units, and a zero is left out") {
  CHECK(rough_duration(0ms) == "0ms");
  CHECK(rough_duration(999ms) == "999ms");
  CHECK(rough_duration(1'999ms) == "1s");
  CHECK(rough_duration(60s) == "1m");
  CHECK(rough_duration(200s + 999ms) == "3m 20s");
  CHECK(rough_duration(1h + 59s) == "1h");
  CHECK(rough_duration(23h + 59min + 59s) == "23h 59m");
  CHECK(rough_duration(100h) == "4d 4h");
}

TEST_CASE("rough duration: one below zero has one sign in front") {
  CHECK(rough_duration(-3ms) == "-3ms");
  CHECK(rough_duration(-200s) == "-3m 20s");
}

TEST_CASE("rough distance: it says on which side of now a time lies") {
  const leaf::UnixTime now{1'288'834'974'657ms};
  CHECK(rough_distance(now + 90s, now) == "in 1m 30s");
  CHECK(rough_distance(now - 12ms, now) == "12ms ago");
  CHECK(rough_distance(now, now) == "now");
}
