#pragma once

#include <array>
#include <csignal>

namespace leafctl {

/// Thrown where output ended early because of a signal, after a whole line or where nobody reads it.
struct Interrupted {
  int signal;
};

/// While one lives, signals that ask the process to end, and SIGPIPE, are only noted, so that output can end
/// after the line in hand and what is held be given back. A second one, but for SIGPIPE, that does not
/// come together with it ends the process at once. A signal that was ignored stays ignored. Guards may nest;
/// the outermost counts.
class InterruptGuard {
 public:
  InterruptGuard() noexcept;
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal that came during the life of a guard, or 0.
  static int received() noexcept;

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP, SIGPIPE};

  std::array<struct sigaction, signals.size()> before_{};
};

/// Ends the process as `signal` would have, so that a shell sees what happened.
[[noreturn]] void die_of(int signal) noexcept;

}  // namespace leafctl
