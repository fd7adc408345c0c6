#pragma once

#include <chrono>
#include <thread>

namespace leaf::test {

/// Looks until `condition()` holds, for what another process does in its own time. False if it did not come
/// about within the bound, which is generous because it only ends a test that fails.
template <typename Condition>
bool wait_for(Condition condition, std::chrono::seconds bound = std::chrono::seconds(60)) {
  const auto deadline = std::chrono::steady_clock::now() + bound;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace leaf::test
