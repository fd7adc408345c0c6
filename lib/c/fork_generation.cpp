#include "c/fork_generation.hpp"

#include <pthread.h>

#include <new>

namespace leaf::c {

void count_forks() {
  static const bool is_counting =
      pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); }) == 0;
  if (!is_counting) throw std::bad_alloc();
}

}  // namespace leaf::c
