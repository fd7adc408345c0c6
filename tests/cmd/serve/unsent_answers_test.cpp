#include "serve/unsent_answers.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace {

using leafctl::serve::UnsentAnswers;
using std::chrono::milliseconds;

constexpr milliseconds patience{100};
/// So many milliseconds after the begin.
UnsentAnswers::Time at(int ms) {
  return UnsentAnswers::Time(std::chrono::hours(1)) + milliseconds(ms);
}

}  // namespace

TEST_CASE("unsent answers: one that is taken bit by bit is late all the same") {
  UnsentAnswers unsent;
  CHECK(unsent.empty());
  CHECK_FALSE(unsent.is_late(at(0) + std::chrono::hours(9), patience));
  unsent.add("0123456789", {}, 2, at(0));
  CHECK(unsent.rest() == "23456789");
  unsent.take(3, at(60));
  CHECK(unsent.rest() == "56789");
  CHECK_FALSE(unsent.is_late(at(100), patience));
  unsent.take(3, at(99));
  CHECK(unsent.is_late(at(101), patience));
  unsent.take(2, at(102));
  CHECK(unsent.empty());
  CHECK_FALSE(unsent.is_late(at(1000), patience));
  CHECK(unsent.held() == 0);
}

TEST_CASE("unsent answers: each one has its time, from when those before it were sent") {
  UnsentAnswers unsent;
  const std::array<std::uint32_t, 4> ends{2, 4, 6, 8};
  unsent.add("aabbccdd", ends, 3, at(0));
  CHECK(unsent.rest() == "bccdd");
  CHECK(unsent.held() >= 5);
  unsent.take(1, at(90));  // the end of b
  CHECK_FALSE(unsent.is_late(at(190), patience));
  unsent.take(1, at(180));
  CHECK(unsent.is_late(at(191), patience));  // c has begun at 90
  unsent.take(2, at(185));                   // the end of c, and the begin of d
  CHECK_FALSE(unsent.is_late(at(285), patience));
  CHECK(unsent.is_late(at(286), patience));
  // One that had to wait comes behind.
  unsent.add("ee", {}, 0, at(280));
  CHECK(unsent.rest() == "dee");
  unsent.take(1, at(284));
  CHECK_FALSE(unsent.is_late(at(384), patience));
  CHECK(unsent.is_late(at(385), patience));
  unsent.take(2, at(384));
  CHECK(unsent.empty());
}
