#include <doctest/doctest.h>

#include <array>
#include <iostream>

#include "relacy_store_changes.hpp"

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
  std::ostream nowhere(nullptr);
  rl::test_params params;
  params.iteration_count = 100'000;
  params.output_stream = &std::cerr;  // the history that led to a failure
  params.progress_stream = &nowhere;
  CHECK(rl::simulate<PiecewiseTakers>(params));
  std::cout << "figure: models/store_changes 100000 random schedules\n";
}
