#include "host/fork_mutex.hpp"

#include <unistd.h>

#include <chrono>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leaf::host {

void ForkMutex::lock() {
  lock_unless([] { return false; });
}

bool ForkMutex::lock_unless(const std::function<bool()>& is_late) {
  constexpr std::chrono::milliseconds look_again{100};
  const pid_t self = getpid();
  while (!mutex_.try_lock()) {
    const pid_t holder = holder_.load(std::memory_order_relaxed);
    if (holder != 0 && holder != self) {
      throw Error(
          ErrorCode::failed,
          "a thread of the parent process was in a call when this process was forked, and left it unfinished",
          "make a new object in the child, or fork while no other thread is in a call"_hint);
    }
    if (mutex_.try_lock_for(look_again)) break;
    if (is_late()) return false;
  }
  holder_.store(self, std::memory_order_relaxed);
  return true;
}

void ForkMutex::unlock() {
  holder_.store(0, std::memory_order_relaxed);
  mutex_.unlock();
}

}  // namespace leaf::host
