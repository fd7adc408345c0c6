#include "terminal/interrupt.hpp"

#include <unistd.h>

namespace leafctl {

namespace {

volatile std::sig_atomic_t received_signal = 0;
int guards = 0;

extern "C" void note_signal(int signal) {
  received_signal = signal;
}

void note_unless_ignored(int signal, struct sigaction& before) noexcept {
  sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction noting {};
  noting.sa_handler = note_signal;
  // No SA_RESTART: a write that waits for a slow reader has to return.
  // A pipe that nobody reads signals with each write.
  noting.sa_flags = signal == SIGPIPE ? 0 : static_cast<int>(SA_RESETHAND);
  sigaction(signal, &noting, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() noexcept {
  if (guards++ > 0) return;
  received_signal = 0;
  for (std::size_t i = 0; i < signals.size(); ++i) note_unless_ignored(signals[i], before_[i]);
}

InterruptGuard::~InterruptGuard() {
  if (--guards > 0) return;
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
  received_signal = 0;
}

int InterruptGuard::received() noexcept {
  return received_signal;
}

void die_of(int signal) noexcept {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  _exit(128 + signal);  // reached only where the signal is blocked
}

}  // namespace leafctl
