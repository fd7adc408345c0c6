#include "c/fork_generation.hpp"

#include <pthread.h>

#include <new>

namespace leaf::c {

namespace {

/// When the library is loaded: handlers in a child run in the order of their registration, and those of the
/// program may use its handles.
const bool is_counting =
    pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); }) == 0;

}  // namespace

void require_counted_forks() {
  if (!is_counting) throw std::bad_alloc();
}

}  // namespace leaf::c
