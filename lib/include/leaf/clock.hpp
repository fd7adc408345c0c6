#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "leaf/export.hpp"

namespace leaf {

/// Where the library reads time and waits for it; a program replaces it to test its own behaviour.
/// Thread safe. Time spent inside a database driver is always real.
class LEAF_EXPORT Clock {
 public:
  virtual ~Clock();

  /// The time of day, which may be set forward and back.
  virtual std::chrono::system_clock::time_point now() = 0;

  /// Time that never goes back; deadlines and pauses are counted in it.
  virtual std::chrono::steady_clock::time_point steady_now() = 0;

  /// Waits until `changed` is notified or `deadline` has come, whichever is first; may wake early.
  /// `lock` is held on entry and on return.
  virtual void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                          std::chrono::steady_clock::time_point deadline) = 0;

  /// Returns after about `duration`, at once if it is zero.
  virtual void sleep_for(std::chrono::nanoseconds duration) = 0;

  /// A number that stays the same only while now() moves on by no more than the kernel's clock ticks, 1 to 10
  /// ms apart, and changes when the clock is set. Cheap: while it stays the same, an earlier reading of now()
  /// may be used again.
  virtual std::int64_t tick() { return now().time_since_epoch().count(); }

  /// The machine's clock. Lives as long as the program.
  static Clock& real() noexcept;
};

}  // namespace leaf
