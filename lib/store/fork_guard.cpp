#include "store/fork_guard.hpp"

#include <pthread.h>

#include <ctime>

#include <atomic>

namespace leaf::store::fork_guard {

namespace {

// Not std::shared_mutex, which lets readers starve a writer, and which a child could not make anew.
constexpr pthread_rwlock_t unlocked = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
pthread_rwlock_t lock = unlocked;
pthread_rwlock_t brief_lock = unlocked;
bool has_brief_lock = false;  // of who forks
std::atomic<int> forks{0};

}  // namespace

Hold::Hold() {
  pthread_rwlock_rdlock(&lock);
}
Hold::~Hold() {
  pthread_rwlock_unlock(&lock);
}

HoldBriefly::HoldBriefly() {
  const Hold none_begins_under_a_fork;
  pthread_rwlock_rdlock(&brief_lock);
}
HoldBriefly::~HoldBriefly() {
  pthread_rwlock_unlock(&brief_lock);
}

bool is_wanted() noexcept {
  return forks.load(std::memory_order_relaxed) > 0;
}

void before_fork() noexcept {
  ++forks;
  pthread_rwlock_wrlock(&lock);
  constexpr long moment_ns = 100'000'000;
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += moment_ns;
  if (until.tv_nsec >= 1'000'000'000) {
    until.tv_nsec -= 1'000'000'000;
    ++until.tv_sec;
  }
  has_brief_lock = pthread_rwlock_clockwrlock(&brief_lock, CLOCK_MONOTONIC, &until) == 0;
}

void after_fork(bool is_child) noexcept {
  if (is_child) {
    // Threads that waited for the lock were not forked, and would be waited for.
    lock = brief_lock = unlocked;
    forks = 0;
  } else {
    --forks;
    if (has_brief_lock) pthread_rwlock_unlock(&brief_lock);
    pthread_rwlock_unlock(&lock);
  }
}

}  // namespace leaf::store::fork_guard
