#pragma once

#include <pthread.h>
#include <signal.h>

namespace leaf::store {

/// Blocks signals in this thread while it exists, and for good in every thread that is started meanwhile, as
/// all of the library's are. So the program's handlers run only in the program's own threads, which shells
/// and interpreters rely on. Faults such as SIGSEGV are still handled where they happen.
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
