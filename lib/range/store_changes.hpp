#pragma once

#include <atomic>
#include <cstdint>

namespace leaf::range {

/// How often takers were sent to what another store granted, or to another buffer. Whoever takes an answer
/// piece by piece looks before the first and after the last one; nobody waits for anybody.
class StoreChanges {
 public:
  /// While it lives takers are sent elsewhere: some draw here and some there. One at a time.
  class Change {
   public:
    explicit Change(StoreChanges& changes) noexcept : count_(changes.count_) {
      count_.fetch_add(1, std::memory_order_acq_rel);
    }
    ~Change() { count_.fetch_add(1, std::memory_order_acq_rel); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    std::atomic<std::uint64_t>& count_;
  };

  /// During a change another number each time, so that an answer that lies within one is of two stores too.
  std::uint64_t count() noexcept {
    const std::uint64_t found = count_.load(std::memory_order_acquire);
    return found % 2 == 0 ? found : count_.fetch_add(2, std::memory_order_acq_rel) + 2;
  }

 private:
  std::atomic<std::uint64_t> count_{0};  ///< odd during a change
};

}  // namespace leaf::range
