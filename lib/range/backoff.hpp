#pragma once

#include <algorithm>

namespace leaf::range {

/// Tells the processor that this thread waits for another one.
inline void relax() noexcept {
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

}  // namespace leaf::range
