#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace leafctl {

/// Objects in memory that a process shares with those that it forks.
template <class T>
class SharedArray {
 public:
  /// Throws std::bad_alloc.
  explicit SharedArray(std::size_t size) : size_(size) {
    void* const memory =
        mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    objects_ = static_cast<T*>(memory);
    std::uninitialized_value_construct_n(objects_, size);
  }
  ~SharedArray() { munmap(objects_, size_ * sizeof(T)); }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;

  T& operator[](std::size_t index) noexcept { return objects_[index]; }
  T* begin() noexcept { return objects_; }
  T* end() noexcept { return objects_ + size_; }

 private:
  static_assert(std::is_trivially_destructible_v<T>);

  T* objects_;
  std::size_t size_;
};

}  // namespace leafctl
