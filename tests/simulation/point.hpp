#pragma once

#include <cstdint>

namespace leaf::simulation {

/// How many more points the fiber that runs passes before another one may.
extern std::int64_t points_left;
/// Called at the last of them.
void preempt();

/// Here another thread may run, the process may die, or anything else may happen.
inline void point() {
  if (--points_left < 0) [[unlikely]]
    preempt();
}

}  // namespace leaf::simulation
