#pragma once

#include <atomic>
#include <memory>

namespace leaf {

/// A value that the first call makes and that is never destroyed. Threads that call at the same time make one
/// each, and the first one is kept, so nobody waits. With a `static` local variable, a child that is forked
/// while another thread initializes it would wait forever, as it does not have that thread. Thread safe; to
/// be `constinit`.
template <class T>
class MadeOnce {
 public:
  template <class Make>
  const T& get(Make make) {
    const Shared made(made_);
    if (const T* const value = made.load(std::memory_order_acquire)) return *value;
    auto own = std::make_unique<const T>(make());
    const T* first = nullptr;
    if (!made.compare_exchange_strong(first, own.get(), std::memory_order_acq_rel)) return *first;
    return *own.release();
  }

 private:
  using Shared = std::atomic_ref<const T*>;  // no step for the simulator: no order depends on it

  alignas(Shared::required_alignment) const T* made_ = nullptr;
};

}  // namespace leaf
