#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>

#include "leaf/clock.hpp"

namespace leaf::test {

/// Time that passes only when the test says so. Those who wait are woken by advance() as well as by what they
/// wait for.
class ManualClock : public Clock {
 public:
  std::chrono::steady_clock::time_point steady_now() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  /// Starts at the real time, so that a store's own clock agrees.
  std::chrono::system_clock::time_point now() override {
    const std::lock_guard lock(mutex_);
    return time_of_day_;
  }

  /// Time passes for whoever sleeps: at least a microsecond, so that polling comes to an end.
  void sleep_for(std::chrono::nanoseconds duration) override {
    advance(std::max<std::chrono::nanoseconds>(duration, std::chrono::microseconds(1)));
  }

  /// Sets the time of day, as an operator would; the time that never goes back stays.
  void set_back(std::chrono::system_clock::duration by) {
    const std::lock_guard lock(mutex_);
    time_of_day_ -= by;
  }

  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  std::chrono::steady_clock::time_point deadline) override {
    std::uint64_t self = 0;
    {
      const std::lock_guard own(mutex_);
      if (now_ >= deadline) return;
      self = ++last_sleeper_;
      sleepers_[self] = {&changed, lock.mutex()};
      arrived_.notify_all();
    }
    changed.wait(lock);
    const std::lock_guard own(mutex_);
    sleepers_.erase(self);
  }

  void advance(std::chrono::steady_clock::duration by) {
    std::map<std::uint64_t, Sleeper> woken;
    {
      const std::lock_guard lock(mutex_);
      now_ += by;
      time_of_day_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(by);
      woken.swap(sleepers_);
    }
    for (const auto& [id, sleeper] : woken) {
      // Whoever has looked at the old time holds the mutex until it sleeps.
      { const std::lock_guard lock(*sleeper.mutex); }
      sleeper.changed->notify_all();
    }
  }

  /// Returns once `count` threads sleep that were not woken since by advance(). Throws where that does not
  /// come about within a bound, which is generous because it only ends a test that fails.
  void wait_for_sleepers(std::size_t count) {
    std::unique_lock lock(mutex_);
    const auto are_there = [&] { return sleepers_.size() >= count; };
    if (!arrived_.wait_for(lock, std::chrono::minutes(1), are_there))
      throw std::runtime_error("fewer threads sleep than the test waits for");
  }

 private:
  struct Sleeper {
    std::condition_variable* changed;
    std::mutex* mutex;
  };

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::uint64_t, Sleeper> sleepers_;
  std::uint64_t last_sleeper_ = 0;
  std::chrono::steady_clock::time_point now_{std::chrono::hours(1)};
  std::chrono::system_clock::time_point time_of_day_ = std::chrono::system_clock::now();
};

}  // namespace leaf::test
