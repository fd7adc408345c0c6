#include "store/fork_generation.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace leaf::store {

constinit ForkMark* fork_mark = nullptr;

namespace {

ForkMark none = 0;  // what fork_mark leads to where memory is not wiped
constinit std::atomic<unsigned> last_generation{0};

/// Where there is no mark: the generation, and below it the PID of the process that it was given to.
constinit std::atomic<std::uint64_t> given{0};
thread_local std::uint64_t given_at_fork = 0;

void note_given() {
  given_at_fork = given.load(std::memory_order_relaxed);
}
/// In a child. Another handler that came before may have been given its own.
void forget_given() {
  std::uint64_t of_parent = given_at_fork;
  given.compare_exchange_strong(of_parent, 0, std::memory_order_relaxed);
}

/// Emulators accept any advice, and follow none.
bool wipes_on_fork(void* page, std::size_t size) {
  constexpr int no_such_advice = -1;
  return madvise(page, size, no_such_advice) != 0 && madvise(page, size, MADV_WIPEONFORK) == 0;
}

/// The mark of this process and its descendants. Threads that make one at once use the same one afterwards.
ForkMark* choose_mark() {
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool is_wiped = page != MAP_FAILED && wipes_on_fork(page, size);
  if (!is_wiped)
    pthread_atfork(&note_given, nullptr, &forget_given);  // without memory for it, PIDs have to do
  ForkMark* const own = is_wiped ? new (page) ForkMark(0) : &none;
  ForkMark* first = nullptr;
  const bool is_first =
      std::atomic_ref(fork_mark).compare_exchange_strong(first, own, std::memory_order_acq_rel);
  if (page != MAP_FAILED && !(is_first && is_wiped)) munmap(page, size);
  return is_first ? own : first;
}

unsigned new_generation() {
  return last_generation.fetch_add(1, std::memory_order_relaxed) + 1;
}

unsigned given_to_this_pid() {
  const auto pid = static_cast<std::uint32_t>(getpid());
  std::uint64_t found = given.load(std::memory_order_relaxed);
  while (found == 0 || static_cast<std::uint32_t>(found) != pid) {
    const std::uint64_t next = std::uint64_t{new_generation()} << 32 | pid;
    if (given.compare_exchange_strong(found, next, std::memory_order_relaxed)) found = next;
  }
  return static_cast<unsigned>(found >> 32);
}

}  // namespace

unsigned find_fork_generation() noexcept {
  ForkMark* mark = std::atomic_ref(fork_mark).load(std::memory_order_acquire);
  if (mark == nullptr) mark = choose_mark();
  if (mark == &none) return given_to_this_pid();
  unsigned found = 0;
  const unsigned next = new_generation();
  const bool is_first =
      std::atomic_ref(*mark).compare_exchange_strong(found, next, std::memory_order_relaxed);
  return is_first ? next : found;
}

}  // namespace leaf::store
