#include "terminal/interruptible_clock.hpp"

#include <algorithm>

#include "terminal/interrupt.hpp"

namespace leafctl {

namespace {

/// A signal may come just before a sleep, or to another thread.
constexpr std::chrono::milliseconds longest_sleep{20};

thread_local bool may_throw = false;

}  // namespace

std::chrono::system_clock::time_point InterruptibleClock::now() {
  return real().now();
}

std::chrono::steady_clock::time_point InterruptibleClock::steady_now() {
  return real().steady_now();
}

void InterruptibleClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                                    std::chrono::steady_clock::time_point deadline) {
  real().wait_until(lock, changed, deadline);
}

void InterruptibleClock::sleep_for(std::chrono::nanoseconds duration) {
  if (!may_throw) return real().sleep_for(duration);
  const auto end = steady_now() + duration;
  for (auto left = duration; left > left.zero(); left = end - steady_now()) {
    if (const int signal = InterruptGuard::received(); signal != 0) throw Interrupted{signal};
    real().sleep_for(std::min<std::chrono::nanoseconds>(left, longest_sleep));
  }
}

void InterruptibleClock::run(const std::function<void()>& call) {
  may_throw = true;
  try {
    call();
  } catch (...) {
    may_throw = false;
    throw;
  }
  may_throw = false;
}

}  // namespace leafctl
