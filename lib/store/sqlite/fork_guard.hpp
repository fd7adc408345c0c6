#pragma once

namespace leaf::store::sqlite::fork_guard {

/// Keeps fork() waiting while a thread is inside of SQLite: a child would inherit SQLite's mutexes locked,
/// and believe to hold the locks on files that its parent holds. To be held from the begin of a transaction
/// to its end, and once by a thread at most.
class Hold {
 public:
  /// Waits for a fork() that is under way.
  Hold();
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
};

/// True while fork() waits: whoever may wait for long gives up, and tries again afterwards.
bool is_wanted() noexcept;

/// Driver::before_fork and Driver::after_fork.
void before_fork() noexcept;
void after_fork(bool is_child) noexcept;

}  // namespace leaf::store::sqlite::fork_guard
