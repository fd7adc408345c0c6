#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <mutex>

namespace leaf::host {

/// A mutex that is not waited for where that has no end: what another thread holds when a process forks
/// nobody unlocks in the child. For locks that are held for long; taking it asks the system for the process.
class ForkMutex {
 public:
  /// Throws Error (failed) in a child if a thread of its parent held it at the fork.
  void lock();
  /// The same, but false once `is_late()`.
  bool lock_unless(const std::function<bool()>& is_late);
  void unlock();

 private:
  std::timed_mutex mutex_;
  std::atomic<pid_t> holder_{0};
};

}  // namespace leaf::host
