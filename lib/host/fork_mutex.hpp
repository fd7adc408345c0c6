#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace leaf::host {

/// A mutex that is not waited for where that has no end: what another thread holds when a process forks
/// nobody unlocks in the child. So the word that says that it is locked says by which process too. For locks
/// that are held for long.
class ForkMutex {
 public:
  /// Throws Error (failed) in a child if a thread of its parent held it at the fork.
  void lock();
  /// The same, but false once `is_late()`, which is asked at least each tenth of a second, while another
  /// thread has it.
  bool lock_unless(const std::function<bool()>& is_late);
  void unlock();

 private:
  bool try_lock(std::uint32_t as);
  void wait_while(std::uint32_t found);
  void wake_one();

  /// 0, or the holder's fork_generation() and whether others may be waiting: a futex.
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace leaf::host
