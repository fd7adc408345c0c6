#pragma once

namespace leaf::store::fork_guard {

/// Keeps fork() waiting while a thread is inside of a database's library: a child would inherit that
/// library's mutexes locked, and nobody would unlock them. Keeps end() waiting likewise. Each driver has a
/// guard of its own. Held once by a thread at most. In SQLite from the begin of a transaction to its end,
/// since a child would believe to hold the locks on files that its parent holds too; in libpq while a
/// connection is begun, goes a step on, or is ended, and while nobody waits for the server.
class Hold {
 public:
  /// Waits for a fork() that is under way.
  Hold();
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
};

/// The same for what may wait for the network without end, and has nothing locked meanwhile: fork() waits for
/// it no longer than a moment. For the system's resolver, whose locks a child would inherit.
class HoldBriefly {
 public:
  /// Waits for a fork() that is under way.
  HoldBriefly();
  ~HoldBriefly();
  HoldBriefly(const HoldBriefly&) = delete;
  HoldBriefly& operator=(const HoldBriefly&) = delete;
};

/// True while fork() waits: whoever may wait for long gives up, and tries again afterwards.
bool is_wanted() noexcept;

/// Another number in a child than in its parent.
unsigned generation() noexcept;

/// To be called by exit(), before libraries tear down what their functions need: waits a moment for those who
/// hold the guard.
void end() noexcept;
/// Whoever holds the guard and sees this leaves the library alone.
bool has_ended() noexcept;

/// Driver::before_fork and Driver::after_fork.
void before_fork() noexcept;
void after_fork(bool is_child) noexcept;

}  // namespace leaf::store::fork_guard
