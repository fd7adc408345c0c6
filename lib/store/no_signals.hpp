#pragma once

#include <pthread.h>
#include <signal.h>

namespace leaf::store {

/// For each thread that the library starts: while it is there this thread handles no signals, and neither
/// does ever one that it starts meanwhile. The program's handlers run in the program's own threads, which may
/// count on that, as shells and interpreters do. Faults, such as SIGSEGV, are handled where they happen.
class NoSignals {
 public:
  NoSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
      sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace leaf::store
