#pragma once

#include <functional>
#include <utility>

#include "support/manual_clock.hpp"

namespace leaf::test {

/// Whoever sleeps first is interrupted, before time passes: what others do meanwhile.
class InterruptedClock final : public ManualClock {
 public:
  void sleep_for(std::chrono::nanoseconds duration) override {
    if (interruption) std::exchange(interruption, {})();
    ManualClock::sleep_for(duration);
  }
  std::function<void()> interruption;
};

}  // namespace leaf::test
