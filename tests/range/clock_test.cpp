#include "leaf/clock.hpp"

#include <doctest/doctest.h>
#include <time.h>

#include <cerrno>
#include <chrono>

using namespace std::chrono_literals;

namespace {

bool is_interrupted = false;
int interruptions = 0;
constexpr int endless = 1000;

}  // namespace

/// In the place of the system's. While a signal comes every 20 us, what is left grows by the timer's slack of
/// 50 us, less what has passed.
extern "C" int nanosleep(const timespec* length, timespec* left) {
  if (!is_interrupted) return clock_nanosleep(CLOCK_MONOTONIC, 0, length, left) == 0 ? 0 : -1;
  if (++interruptions == endless) return 0;
  const timespec until_signal{.tv_sec = 0, .tv_nsec = 20'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &until_signal, nullptr);
  if (left != nullptr) {
    *left = *length;
    left->tv_nsec += 30'000;
  }
  errno = EINTR;
  return -1;
}

TEST_CASE("clock: a pause ends, however many signals interrupt it") {
  leaf::Clock& clock = leaf::Clock::real();
  is_interrupted = true;
  const auto begin = clock.steady_now();
  clock.sleep_for(1ms);
  CHECK(clock.steady_now() - begin >= 1ms);
  CHECK(interruptions > 0);
  CHECK(interruptions < endless);
  interruptions = 0;
  clock.sleep_for(0ms);
  clock.sleep_for(-1ms);
  CHECK(interruptions == 0);
  is_interrupted = false;
}
