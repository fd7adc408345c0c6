#include "store/fork_guard.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <ctime>

namespace leaf::store::fork_guard {

namespace {

// Not std::shared_mutex, which lets readers starve a writer, and which a child could not make anew.
constexpr pthread_rwlock_t unlocked = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
pthread_rwlock_t lock = unlocked;
pthread_rwlock_t brief_lock = unlocked;
bool has_brief_lock = false;  // of who forks
/// By this thread, or about to be. Who forks in a signal handler that interrupts it would wait for itself;
/// the child is not to call the library, so nothing is kept from it. There from a thread's begin: a first use
/// that found no memory for it would end the program.
[[gnu::tls_model("initial-exec")]] thread_local int held = 0;
std::atomic<bool> is_over{false};
std::atomic<unsigned> generations{0};

/// False if others still hold it at the end of `patience`.
bool lock_soon(pthread_rwlock_t& rwlock, std::chrono::nanoseconds patience) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto until = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) + patience;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(until);
  const timespec latest{.tv_sec = seconds.count(), .tv_nsec = (until - seconds).count()};
  return pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &latest) == 0;
}
std::atomic<int> forks{0};

}  // namespace

Hold::Hold() {
  ++held;
  pthread_rwlock_rdlock(&lock);
}
Hold::~Hold() {
  pthread_rwlock_unlock(&lock);
  --held;
}

HoldBriefly::HoldBriefly() {
  const Hold none_begins_under_a_fork;
  ++held;
  pthread_rwlock_rdlock(&brief_lock);
}
HoldBriefly::~HoldBriefly() {
  pthread_rwlock_unlock(&brief_lock);
  --held;
}

bool is_wanted() noexcept {
  return forks.load(std::memory_order_relaxed) > 0;
}

unsigned generation() noexcept {
  return generations.load(std::memory_order_relaxed);
}

void end() noexcept {
  is_over = true;
  // It is let go at once: whoever waits for it has to see that it is over, for exit() may wait for its
  // thread.
  if (lock_soon(lock, std::chrono::seconds(2))) pthread_rwlock_unlock(&lock);
}

bool has_ended() noexcept {
  return is_over;
}

void before_fork() noexcept {
  ++forks;
  if (held > 0) return;
  pthread_rwlock_wrlock(&lock);
  has_brief_lock = lock_soon(brief_lock, std::chrono::milliseconds(100));
}

void after_fork(bool is_child) noexcept {
  --forks;
  if (is_child) ++generations;
  if (held > 0) return;
  if (has_brief_lock) pthread_rwlock_unlock(&brief_lock);
  pthread_rwlock_unlock(&lock);
  if (is_child) {
    // Threads that held or waited for them were not forked, and would be waited for.
    lock = brief_lock = unlocked;
    forks = 0;
  }
}

}  // namespace leaf::store::fork_guard
