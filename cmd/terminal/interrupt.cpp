#include "terminal/interrupt.hpp"

#include <unistd.h>

#include <ctime>

namespace leafctl {

namespace {

volatile std::sig_atomic_t received_signal = 0;
int guards = 0;

timespec received_at{};

/// As timeout(1) sends one, to its child and then to the group: that is one request.
bool comes_with_the_first() noexcept {
  constexpr long long together_ns = 100'000'000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (received_signal == 0 || received_signal == SIGPIPE) received_at = now;
  return (now.tv_sec - received_at.tv_sec) * 1'000'000'000LL + now.tv_nsec - received_at.tv_nsec <
         together_ns;
}

extern "C" void note_signal(int signal) {
  if (signal == SIGPIPE || comes_with_the_first()) {
    received_signal = signal;
  } else {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // arrives when this returns
  }
}

void note_unless_ignored(int signal, struct sigaction& before) noexcept {
  sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction noting {};
  noting.sa_handler = note_signal;
  // No SA_RESTART: a write that waits for a slow reader has to return.
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
