#include "host/fork_mutex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "leaf/error.hpp"
#include "store/fork_generation.hpp"
#include "text/hint.hpp"

namespace leaf::host {

namespace {
constexpr std::uint32_t is_waited_for = std::uint32_t{1} << 31;
}  // namespace

void ForkMutex::lock() {
  lock_unless([] { return false; });
}

bool ForkMutex::lock_unless(const std::function<bool()>& is_late) {
  const std::uint32_t self = store::fork_generation() & ~is_waited_for;
  if (try_lock(self)) return true;
  bool has_waited = false;
  // Whoever has waited cannot know that nobody else does.
  while (!try_lock(self | is_waited_for)) {
    if (has_waited && is_late()) {
      wake_one();  // it may have been this thread's turn
      return false;
    }
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    if (found == 0) continue;
    if ((found & ~is_waited_for) != self) {
      throw Error(
          ErrorCode::failed,
          "a thread of the parent process was in a call when this process was forked, and left it unfinished",
          "make a new object in the child, or fork while no other thread is in a call"_hint);
    }
    if ((found & is_waited_for) == 0 &&
        !word_.compare_exchange_strong(found, found | is_waited_for, std::memory_order_relaxed))
      continue;
    wait_while(self | is_waited_for);
    has_waited = true;
  }
  return true;
}

void ForkMutex::unlock() {
  if ((word_.exchange(0, std::memory_order_release) & is_waited_for) != 0) wake_one();
}

bool ForkMutex::try_lock(std::uint32_t as) {
  std::uint32_t unlocked = 0;
  return word_.compare_exchange_strong(unlocked, as, std::memory_order_acquire, std::memory_order_relaxed);
}

/// Not for longer than until it is time to ask whether it is late.
void ForkMutex::wait_while(std::uint32_t found) {
  constexpr timespec look_again{.tv_sec = 0, .tv_nsec = 100'000'000};
  syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, found, &look_again, nullptr, 0);
}

void ForkMutex::wake_one() {
  syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace leaf::host
