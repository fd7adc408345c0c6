#pragma once

#include <csignal>

namespace leafctl {

/// Thrown where output ended early because of a signal, after a whole line.
struct Interrupted {
  int signal;
};

/// While one lives, SIGINT and SIGTERM are only noted, so that output can end after the line in hand. The
/// second one ends the process at once. A signal that was ignored stays ignored.
/// Guards may nest; the outermost counts.
class InterruptGuard {
 public:
  InterruptGuard() noexcept;
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal that came during the life of a guard, or 0.
  static int received() noexcept;

 private:
  struct sigaction interrupt_before_ {};
  struct sigaction terminate_before_ {};
};

/// Ends the process as `signal` would have, so that a shell sees what happened.
[[noreturn]] void die_of(int signal) noexcept;

}  // namespace leafctl
