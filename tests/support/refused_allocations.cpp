#include "support/refused_allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace leaf::test {

namespace {

std::atomic<int> left{0};
thread_local bool is_spared = false;
thread_local int until_refused = 0;
thread_local bool was_refused = false;

bool is_refused() {
  if (until_refused > 0 && --until_refused == 0) return was_refused = true;
  if (left <= 0 || is_spared) return false;
  --left;
  return true;
}

}  // namespace

void refuse_allocations(int count) {
  is_spared = true;
  left = count;
}

int allocations_to_refuse() {
  return left;
}

void refuse_nth_allocation(int nth) {
  until_refused = nth;
  if (nth > 0) was_refused = false;
}

bool was_nth_allocation_refused() {
  return was_refused;
}

}  // namespace leaf::test

void* operator new(std::size_t size) {
  if (leaf::test::is_refused()) throw std::bad_alloc();
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
