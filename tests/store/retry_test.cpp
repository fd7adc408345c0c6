#include "store/retry.hpp"

#include <doctest/doctest.h>

#include "support/error_of.hpp"
#include "support/manual_clock.hpp"

using namespace std::chrono_literals;
using leaf::Error;
using leaf::ErrorCode;
using leaf::store::Attempts;
using leaf::test::error_code;
using leaf::test::ManualClock;

namespace {

Error with_state(const char* sqlstate) {
  return {ErrorCode::unavailable, "not now", "", sqlstate};
}

}  // namespace

TEST_CASE("attempts: what another client was in the way of is tried again until the time is up") {
  ManualClock clock;
  Attempts attempts(clock, 1s);
  CHECK(attempts.time_left() == 1s);
  CHECK_NOTHROW(attempts.wait_after(with_state("40001")));
  CHECK(attempts.time_left() < 1s);
  CHECK_NOTHROW(attempts.wait_after(with_state("40P01")));
  CHECK_NOTHROW(attempts.wait_after(with_state("55P03")));
  CHECK_NOTHROW(attempts.wait_after(with_state("08006")));
  clock.advance(1s);
  CHECK(error_code([&] { static_cast<void>(attempts.time_left()); }) == ErrorCode::unavailable);
}

TEST_CASE("attempts: whatever another connection may cure is tried again") {
  // 25P03: idle for too long in a transaction. 3F000, 42P01: a pooler led to another server.
  for (const char* sqlstate : {"25P03", "3F000", "42P01", "25006", "57P01", "08006"}) {
    CAPTURE(sqlstate);
    ManualClock clock;
    Attempts attempts(clock, 1min);
    CHECK_NOTHROW(attempts.wait_after(with_state(sqlstate)));
    CHECK_NOTHROW(attempts.wait_after(with_state(sqlstate)));
  }
}

TEST_CASE("attempts: twenty who were in the way are gone around, however long there is for it") {
  ManualClock clock;
  Attempts attempts(clock, 1h);
  for (int i = 0; i < 20; ++i) CHECK_NOTHROW(attempts.wait_after(with_state("40001")));
  CHECK(error_code([&] { attempts.wait_after(with_state("40001")); }) == ErrorCode::unavailable);
}

TEST_CASE("attempts: no pause goes on after the end of the time") {
  // Pauses are drawn at random.
  for (int run = 0; run < 100; ++run) {
    ManualClock clock;
    const auto begun = clock.steady_now();
    Attempts attempts(clock, 50ms);
    while (error_code([&] { attempts.wait_after(with_state("40001")); }) == std::nullopt) {
    }
    CHECK(clock.steady_now() - begun < 50ms);
  }
}

TEST_CASE("attempts: a server that starts again is waited for until the time is up, and not all the time") {
  // Pauses are drawn at random. 53300: it has too many connections.
  for (int run = 0; run < 20; ++run) {
    const char* const sqlstate = run % 2 == 0 ? "57P03" : "53300";
    ManualClock clock;
    const auto begun = clock.steady_now();
    Attempts attempts(clock, 60s);
    int count = 0;
    while (error_code([&] { attempts.wait_after(with_state(sqlstate)); }) == std::nullopt) ++count;
    CHECK(clock.steady_now() - begun >= 59900ms);
    CHECK(clock.steady_now() - begun < 60s);
    CHECK(count > 60);
    CHECK(count < 600);
  }
}

TEST_CASE("attempts: without a timeout there is one, which has a second") {
  for (const char* sqlstate : {"40001", "55P03", "08006", "57P01", "57P03", "01000", "25006"}) {
    ManualClock clock;
    const auto begun = clock.steady_now();
    Attempts attempts(clock, 0ms);
    CHECK(attempts.time_left() == 1s);
    CHECK(error_code([&] { attempts.wait_after(with_state(sqlstate)); }) == ErrorCode::unavailable);
    CHECK(clock.steady_now() == begun);
  }
}

TEST_CASE("attempts: of a timeout and an end that is set for all the earlier one counts") {
  ManualClock clock;
  CHECK(Attempts(clock, 1s, clock.steady_now() + 1h).time_left() == 1s);
  CHECK(Attempts(clock, 1h, clock.steady_now() + 1s).time_left() == 1s);
}

TEST_CASE("attempts: an attempt that the end of the time cuts short does not hide what the one before said") {
  const Error refused{ErrorCode::unavailable, "connection refused", "", "57P03"};
  const Error unresolved{ErrorCode::unavailable, "not resolved in time", "", "08001"};
  ManualClock clock;
  Attempts attempts(clock, 1s);
  CHECK_NOTHROW(attempts.wait_after(refused));
  while (attempts.time_left() > 100ms) attempts.wait_after(refused);
  SUBCASE("an attempt") {
    clock.advance(attempts.time_left());
    CHECK(leaf::test::error_text([&] { attempts.wait_after(unresolved); }) == "connection refused | ");
  }
  SUBCASE("the next one, before it begins") {
    clock.advance(attempts.time_left());
    CHECK(leaf::test::error_text([&] { static_cast<void>(attempts.time_left()); }) ==
          "connection refused | ");
  }
  SUBCASE("one that had time for its own counts") {
    Attempts longer(clock, 1s);
    CHECK_NOTHROW(longer.wait_after(refused));
    clock.advance(1s);
    CHECK(leaf::test::error_text([&] { longer.wait_after(unresolved); }) == "not resolved in time | ");
  }
  SUBCASE("what is found out in time counts") {
    CHECK(leaf::test::error_text([&] { attempts.wait_after(unresolved); }) == "not resolved in time | ");
  }
  SUBCASE("and so does what the server itself says") {
    clock.advance(1s);
    CHECK(leaf::test::error_text([&] {
            attempts.wait_after({ErrorCode::usage, "no such database", "", "3D000"});
          }) == "no such database | ");
  }
}
