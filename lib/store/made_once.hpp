#pragma once

#include <atomic>
#include <memory>

namespace leaf {

/// What the first call makes, and nobody destroys. Threads that come at the same time each make one, and the
/// first one counts, so that nobody waits: a child that is forked while another thread makes a `static` of a
/// function would wait for good, since that thread is not its own. Thread safe; to be `constinit`.
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
