#include "leaf/clock.hpp"

#include <time.h>

namespace leaf {

namespace {

class RealClock final : public Clock {
 public:
  std::chrono::system_clock::time_point now() override { return std::chrono::system_clock::now(); }
  std::chrono::steady_clock::time_point steady_now() override { return std::chrono::steady_clock::now(); }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  std::chrono::steady_clock::time_point deadline) override {
    changed.wait_until(lock, deadline);
  }
  void sleep_for(std::chrono::nanoseconds duration) override {
    // Not by what the system says is left: that has the timer's slack added, so that under many signals it
    // grows, and nobody wakes up.
    const auto end = steady_now() + duration;
    for (auto left = duration; left > left.zero(); left = end - steady_now()) {
      const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
      const timespec length{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
      if (nanosleep(&length, nullptr) == 0) return;
    }
  }
  std::int64_t tick() override {
    timespec time{};
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
};

/// Made while the library is loaded: the first caller may be a thread that a fork interrupts.
[[maybe_unused]] Clock& made_early = Clock::real();

}  // namespace

Clock::~Clock() = default;

Clock& Clock::real() noexcept {
  // Never destroyed: detached threads of the embedding program may still read it at exit.
  static RealClock& clock = *new RealClock;
  return clock;
}

}  // namespace leaf
