#include "store/fork_guard.hpp"

#include <pthread.h>

#include <atomic>

namespace leaf::store::fork_guard {

namespace {

// Not std::shared_mutex, which lets readers starve a writer, and which a child could not make anew.
constexpr pthread_rwlock_t unlocked = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
pthread_rwlock_t lock = unlocked;
std::atomic<int> forks{0};

}  // namespace

Hold::Hold() {
  pthread_rwlock_rdlock(&lock);
}
Hold::~Hold() {
  pthread_rwlock_unlock(&lock);
}

bool is_wanted() noexcept {
  return forks.load(std::memory_order_relaxed) > 0;
}

void before_fork() noexcept {
  ++forks;
  pthread_rwlock_wrlock(&lock);
}

void after_fork(bool is_child) noexcept {
  if (is_child) {
    // Threads that waited for the lock were not forked, and would be waited for.
    lock = unlocked;
    forks = 0;
  } else {
    --forks;
    pthread_rwlock_unlock(&lock);
  }
}

}  // namespace leaf::store::fork_guard
