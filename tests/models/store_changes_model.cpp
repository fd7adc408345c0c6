#include <doctest/doctest.h>

#include <array>

#include "relacy_store_changes.hpp"
#include "require_safe.hpp"

using leaf::range::StoreChanges;

namespace {

constexpr int forever = 1'000'000;

/// One thread has takers draw from another store, twice; the others make an answer of two pieces.
struct PiecewiseTakers : rl::test_suite<PiecewiseTakers, 3> {
  void before() { leaf_model::writes_to_live = forever; }

  void thread(unsigned index) {
    if (index == 0) {
      for (int store = 1; store <= 2; ++store) {
        const StoreChanges::Change change(changes);
        drawn_from.store(store % 2, leaf_model::memory_order_release);
      }
      return;
    }
    const std::uint64_t before = changes.count();
    const int first = drawn_from.load(leaf_model::memory_order_acquire);
    const int second = drawn_from.load(leaf_model::memory_order_acquire);
    if (changes.count() == before) RL_ASSERT(first == second);
  }

  void after() {
    const std::uint64_t count = changes.count();
    RL_ASSERT(changes.count() == count);
  }

  StoreChanges changes;
  leaf_model::atomic<int> drawn_from{0};
};

}  // namespace

TEST_CASE("store changes model: no answer that passes has pieces of two stores") {
  require_safe<PiecewiseTakers>("store_changes", 100'000);
}
