#pragma once

#include <chrono>
#include <thread>

namespace leaf::test {

/// For what must come about in the end: generous, because it only ends a test that fails.
inline constexpr std::chrono::seconds patience(60);

/// Looks until `condition()` holds, for what another process does in its own time. False if it did not come
/// about within the bound.
template <typename Condition>
bool wait_for(Condition condition, std::chrono::seconds bound = patience) {
  const auto deadline = std::chrono::steady_clock::now() + bound;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace leaf::test
