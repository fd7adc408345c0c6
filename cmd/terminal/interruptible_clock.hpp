#pragma once

#include <functional>

#include "leaf/clock.hpp"

namespace leafctl {

/// The machine's clock, for waits that may be long and hold nothing that has to be kept.
class InterruptibleClock final : public leaf::Clock {
 public:
  std::chrono::system_clock::time_point now() override;
  std::chrono::steady_clock::time_point steady_now() override;
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  std::chrono::steady_clock::time_point deadline) override;
  void sleep_for(std::chrono::nanoseconds duration) override;

  /// Runs `call`, whose sleeps throw Interrupted once an InterruptGuard has noted a signal. Those of other
  /// threads do not.
  static void run(const std::function<void()>& call);
};

}  // namespace leafctl
