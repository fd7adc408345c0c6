#include "leaf/detail/double_buffer.hpp"

#include <algorithm>

namespace leaf::range {

namespace {

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Eases off after a lost race, so that the winner gets on instead of losing the cache line again.
class Backoff {
 public:
  void pause() noexcept {
    for (int i = 0; i < spins_; ++i) relax();
    spins_ = std::min(spins_ * 2, 64);
  }

 private:
  int spins_ = 1;
};

}  // namespace

DoubleBuffer::Taken DoubleBuffer::take(std::uint64_t at_most) noexcept {
  Backoff backoff;
  std::uint64_t word = word_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint32_t generation = generation_of(word);
    const std::uint32_t offset = offset_of(word);
    const Slot& current = slot(generation);
    // If the slot is being rewritten for a later generation these values are wrong, but then the swap below
    // fails.
    const std::uint32_t size = current.size.load(std::memory_order_relaxed);
    const std::int64_t lo = current.lo.load(std::memory_order_relaxed);
    const std::uint32_t next = generation + 1;
    if (offset < size) {
      const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(at_most, size - offset));
      const bool fetch_next = offset + std::uint64_t{count} >= current.mark.load(std::memory_order_relaxed) &&
                              slot(next).generation.load(std::memory_order_relaxed) != next;
      if (word_.compare_exchange_weak(word, word + count, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        return {{lo + offset, lo + offset + count}, fetch_next};
      }
    } else if (slot(next).generation.load(std::memory_order_acquire) == next) {
      // Acquiring the generation makes the slot's other fields visible; releasing the word passes that on.
      if (word_.compare_exchange_weak(word, word_of(next, 0), std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        word = word_of(next, 0);
      }
      continue;
    } else {
      const std::uint64_t seen = word_.load(std::memory_order_acquire);
      if (seen == word) return {{}, true};
      word = seen;
      continue;
    }
    backoff.pause();
  }
}

bool DoubleBuffer::wants_next() const noexcept {
  const std::uint32_t next = generation_of(word_.load(std::memory_order_acquire)) + 1;
  return slot(next).generation.load(std::memory_order_relaxed) != next;
}

void DoubleBuffer::publish(Range range, std::uint32_t mark) noexcept {
  const std::uint32_t next = generation_of(word_.load(std::memory_order_acquire)) + 1;
  Slot& free = slot(next);
  free.lo.store(range.lo, std::memory_order_relaxed);
  free.size.store(static_cast<std::uint32_t>(range.size()), std::memory_order_relaxed);
  free.mark.store(mark, std::memory_order_relaxed);
  free.generation.store(next, std::memory_order_release);
}

}  // namespace leaf::range
