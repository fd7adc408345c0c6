// In the place of lib/host/fork_mutex.cpp: the scheduler knows who waits for it, and nobody forks.
#include "host/fork_mutex.hpp"

#include "simulation/point.hpp"
#include "simulation/scheduler.hpp"
#include "store/fork_generation.hpp"

namespace leaf::host {

using simulation::point;
using simulation::Scheduler;

void ForkMutex::lock() {
  lock_unless([] { return false; });
}

bool ForkMutex::lock_unless(const std::function<bool()>& is_late) {
  constexpr simulation::Time look_again = 100 * simulation::millisecond;
  point();
  while (word_.peek() != 0) {
    Scheduler& scheduler = Scheduler::the();
    point();
    const simulation::Time deadline = scheduler.now() + look_again;
    point();
    while (word_.peek() != 0 && (scheduler.wait(&word_, deadline) || scheduler.now() < deadline)) {
    }
    if (word_.peek() == 0) break;
    if (is_late()) return false;
    point();
  }
  word_.poke(store::fork_generation());
  point();
  return true;
}

void ForkMutex::unlock() {
  point();
  word_.poke(0);
  if (Scheduler::in_thread()) Scheduler::the().wake_one(&word_);
  point();
}

}  // namespace leaf::host
