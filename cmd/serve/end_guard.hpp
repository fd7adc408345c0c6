#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace leafctl::serve {

/// Ends the process in time, with status 0, whatever still waits: for a store that is silent, for a reader of
/// the log that has stopped.
class EndGuard {
 public:
  using Time = std::chrono::steady_clock::time_point;

  EndGuard() = default;
  /// All has ended by itself.
  ~EndGuard();
  EndGuard(const EndGuard&) = delete;
  EndGuard& operator=(const EndGuard&) = delete;

  /// Replaces what was said before.
  void end_by(Time time);

 private:
  void watch();

  std::mutex mutex_;
  std::condition_variable changed_;
  Time by_{};
  bool has_ended_ = false;
  std::thread watcher_;
};

}  // namespace leafctl::serve
