#pragma once

#include <chrono>

#include "support/manual_clock.hpp"

namespace leaf::test {

/// A look at the time takes `passes`: a store whose answers are slow, each within the timeout.
class SlowClock final : public ManualClock {
 public:
  std::chrono::steady_clock::time_point steady_now() override {
    advance(passes);
    return ManualClock::steady_now();
  }
  std::chrono::milliseconds passes{0};
};

}  // namespace leaf::test
