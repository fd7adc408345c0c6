#include "c/fork_generation.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace leaf::c {

namespace {

std::atomic<unsigned> last{0};

using Mark = std::atomic<unsigned>;

Mark* make_mark() {
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  Mark* const mark = new (page) Mark(0);
  // The kernel wipes it, so it does not matter who forks by what, nor whose handlers run first. A kernel from
  // before 4.14 cannot.
  if (madvise(page, size, MADV_WIPEONFORK) != 0 &&
      pthread_atfork(nullptr, nullptr, [] { fork_mark->store(0, std::memory_order_relaxed); }) != 0) {
    return nullptr;
  }
  return mark;
}

}  // namespace

Mark* const fork_mark = make_mark();

unsigned next_fork_generation() noexcept {
  unsigned found = 0;
  const unsigned next = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return fork_mark->compare_exchange_strong(found, next, std::memory_order_relaxed) ? next : found;
}

void require_fork_mark() {
  if (fork_mark == nullptr) throw std::bad_alloc();
}

}  // namespace leaf::c
