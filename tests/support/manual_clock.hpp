#pragma once

#include <set>

#include "leaf/clock.hpp"

namespace leaf::test {

/// Time that passes only when the test says so. Those who wait are woken by advance() as well as by what they
/// wait for.
class ManualClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point steady_now() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  std::chrono::steady_clock::time_point deadline) override {
    {
      const std::lock_guard own(mutex_);
      if (now_ >= deadline) return;
      sleepers_.insert({&changed, lock.mutex()});
      arrived_.notify_all();
    }
    changed.wait(lock);
    const std::lock_guard own(mutex_);
    sleepers_.erase(sleepers_.find({&changed, lock.mutex()}));
  }

  void advance(std::chrono::steady_clock::duration by) {
    std::multiset<Sleeper> sleepers;
    {
      const std::lock_guard lock(mutex_);
      now_ += by;
      sleepers = sleepers_;
    }
    for (const auto& [changed, mutex] : sleepers) {
      // Whoever has looked at the old time holds the mutex until it sleeps.
      { const std::lock_guard lock(*mutex); }
      changed->notify_all();
    }
  }

  /// Returns once `count` threads wait for time or for what they are notified of.
  void wait_for_sleepers(std::size_t count) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return sleepers_.size() >= count; });
  }

 private:
  using Sleeper = std::pair<std::condition_variable*, std::mutex*>;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::multiset<Sleeper> sleepers_;
  std::chrono::steady_clock::time_point now_{std::chrono::hours(1)};
};

}  // namespace leaf::test
