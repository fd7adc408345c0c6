#include "support/refused_allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace leaf::test {

namespace {

std::atomic<int> left{0};
thread_local bool is_spared = false;

}  // namespace

void refuse_allocations(int count) {
  is_spared = true;
  left = count;
}

int allocations_to_refuse() {
  return left;
}

}  // namespace leaf::test

void* operator new(std::size_t size) {
  using leaf::test::left;
  if (left > 0 && !leaf::test::is_spared) {
    --left;
    throw std::bad_alloc();
  }
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
