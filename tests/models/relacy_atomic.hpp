#pragma once

/// Relacy's atomics, as `std::atomic` of the library's files that are read after `#define std leaf_model`;
/// what those include has to be included before. Relacy picks the interleaving of its threads at each atomic
/// operation, and lets a load return any value that the C++ memory model allows.

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <relacy/relacy.hpp>

namespace leaf_model {

using namespace std;
using rl::mo_acq_rel;
using rl::mo_acquire;
using rl::mo_relaxed;
using rl::mo_release;
using rl::mo_seq_cst;

/// The thread that may be killed, and how many writes it still lives to do.
inline constexpr unsigned mortal_thread = 0;
inline int writes_to_live = 0;

/// False if the calling thread is dead: whatever it goes on to write does not happen.
inline bool may_write() {
  return rl::thread_index() != mortal_thread || --writes_to_live >= 0;
}

template <typename T>
class atomic : public rl::atomic<T> {
 public:
  static constexpr bool is_always_lock_free = true;

  atomic() : atomic(T()) {}
  atomic(T value) : rl::atomic<T>(value) {}

  void store(T value, rl::memory_order order, rl::debug_info_param info) {
    if (may_write()) rl::atomic<T>::store(value, order, info);
  }
  bool compare_exchange_strong(T& expected, T desired, rl::memory_order success, rl::debug_info_param info,
                               rl::memory_order failure, rl::debug_info_param failure_info) {
    return !may_write() ||
           rl::atomic<T>::compare_exchange_strong(expected, desired, success, info, failure, failure_info);
  }
};

}  // namespace leaf_model
