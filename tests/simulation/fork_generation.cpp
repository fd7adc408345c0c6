// In the place of lib/store/fork_generation.cpp: the simulated processes share one real one's memory, and
// none forks.
#include "store/fork_generation.hpp"

#include "simulation/scheduler.hpp"

namespace leaf::store {

constinit ForkMark* fork_mark = nullptr;

unsigned find_fork_generation() noexcept {
  using simulation::Scheduler;
  return Scheduler::in_thread() ? static_cast<unsigned>(Scheduler::the().process().number) : ~0U;
}

}  // namespace leaf::store
