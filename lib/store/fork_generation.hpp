#pragma once

#include <atomic>

namespace leaf::store {

/// What the kernel wipes in each child, so that it is 0 where a process has not asked yet.
using ForkMark = unsigned;
/// Null before anybody has asked. Both are read as atomics; they are no steps for the simulator, since no
/// order depends on them.
extern constinit ForkMark* fork_mark;

/// What fork_generation() returns, where that takes more than a look at the mark.
unsigned find_fork_generation() noexcept;

/// A number that a process has in common with no ancestor that had one before the fork, unlike its PID, which
/// a child in a PID namespace of its own may share with its parent. Never 0, and the same for as long as the
/// process lives. Thread safe.
///
/// Also for children that run no handlers, such as those of _Fork(). A kernel before 4.14 and some emulators
/// cannot wipe memory: there such a child is told by its PID alone.
inline unsigned fork_generation() noexcept {
  if (ForkMark* const mark = std::atomic_ref(fork_mark).load(std::memory_order_acquire)) {
    if (const unsigned generation = std::atomic_ref(*mark).load(std::memory_order_relaxed)) return generation;
  }
  return find_fork_generation();
}

}  // namespace leaf::store
