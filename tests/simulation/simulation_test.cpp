#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "simulation/history.hpp"

using namespace leaf::simulation;

namespace {

constexpr std::uint64_t first_seed = 1'000;

/// How many histories it takes until an ID is repeated; 0 if none of `most` does it.
std::uint64_t histories_until_repeated(Plan plan, std::uint64_t most) {
  for (std::uint64_t i = 1; i <= most; ++i, ++plan.seed) {
    if (run_history(plan).repeats > 0) return i;
  }
  return 0;
}

}  // namespace

TEST_CASE("simulation: no history of a fixed set breaks a promise") {
  Outcome sum;
  const auto run = [&](Plan plan, int histories) {
    for (int i = 0; i < histories; ++i, ++plan.seed) {
      const Outcome outcome = run_history(plan);
      CAPTURE(plan.text());
      const std::string broken = outcome.broken.data();
      REQUIRE(broken == "");
      sum.ids += outcome.ids;
      sum.repeats += outcome.repeats;
      for (std::size_t fault = 0; fault < sum.faults.size(); ++fault)
        sum.faults[fault] += outcome.faults[fault];
    }
  };
  run({.seed = first_seed}, 300);
  for (const Subject named :
       {Subject::stragglers, Subject::turns, Subject::threads, Subject::takings, Subject::layouts,
        Subject::units, Subject::setbacks, Subject::away, Subject::solos, Subject::clocks, Subject::outages,
        Subject::handovers, Subject::places, Subject::latecomers})
    run({.seed = first_seed, .subject = named}, 100);
  for (const Subject slow : {Subject::crowds, Subject::moves, Subject::holders, Subject::demands})
    run({.seed = first_seed, .subject = slow}, 30);
  CHECK(sum.ids > 10'000);
  CHECK(sum.repeats == 0);
  for (std::size_t fault = 0; fault < sum.faults.size(); ++fault) {
    CAPTURE(fault_names[fault]);
    if (static_cast<Fault>(fault) != Fault::network) CHECK(sum.faults[fault] > 0);
  }
}

TEST_CASE("simulation: what is granted is drawn, but for what the buffer and the crashed had") {
  constexpr std::uint32_t crashes =
      1U << static_cast<unsigned>(Fault::kill) | 1U << static_cast<unsigned>(Fault::stop);
  for (const std::uint32_t faults : {0U, crashes}) {
    Plan plan{.seed = first_seed, .faults = faults, .most_slots = 4};
    plan.model = leaf::simulation::Model::segment;
    for (int i = 0; i < 500; ++i, ++plan.seed) {
      const Outcome outcome = run_history(plan);
      CAPTURE(plan.text());
      const std::string broken = outcome.broken.data();
      REQUIRE(broken == "");
    }
  }
}

TEST_CASE("simulation: a name that leads elsewhere, and back, mixes no two stores") {
  constexpr std::uint32_t repoints = 1U << static_cast<unsigned>(Fault::repoint);
  Plan plan{.seed = 62'500, .subject = Subject::names, .faults = repoints};
  std::uint64_t times = 0;
  for (int i = 0; i < 1'500; ++i, ++plan.seed) {
    const Outcome outcome = run_history(plan);
    CAPTURE(plan.text());
    const std::string broken = outcome.broken.data();
    REQUIRE(broken == "");
    times += outcome.faults[static_cast<std::size_t>(Fault::repoint)];
  }
  CHECK(times > 1'500);
  // Rare ones in which a thread could go, or send others, back to the store before, or stay there.
  for (const std::uint64_t seed : {3'931, 21'183, 77'242}) {
    CAPTURE(seed);
    const std::string broken = run_history({.seed = seed, .subject = Subject::names}).broken.data();
    CHECK(broken == "");
  }
}

TEST_CASE("simulation: damage is noticed, and marks keep copies of a store apart") {
  for (const Subject subject : {Subject::damages, Subject::marks, Subject::rewinds}) {
    Plan plan{.seed = first_seed, .subject = subject};
    for (int i = 0; i < 500; ++i, ++plan.seed) {
      const Outcome outcome = run_history(plan);
      CAPTURE(plan.text());
      const std::string broken = outcome.broken.data();
      REQUIRE(broken == "");
    }
  }
}

TEST_CASE("simulation: calls of histories that kept some waiting take no longer than they may") {
  for (const std::uint64_t seed : {623, 7'444, 11'963, 22'905, 81'428}) {
    CAPTURE(seed);
    const std::string broken = run_history({.seed = seed}).broken.data();
    CHECK(broken == "");
  }
}

TEST_CASE("simulation: one seed is one history, and another seed another one") {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = first_seed; seed < first_seed + 20; ++seed) {
    const Outcome first = run_history({.seed = seed});
    run_history({.seed = seed + 1'000});
    const Outcome again = run_history({.seed = seed});
    CHECK(first.hash == again.hash);
    CHECK(first.ids == again.ids);
    hashes.insert(first.hash);
  }
  CHECK(hashes.size() == 20);
}

TEST_CASE("simulation: a branch is its history up to a step, and goes its own way from there") {
  constexpr std::int64_t step = 100;
  Steps steps, branch, again;
  run_history({.seed = first_seed}, nullptr, &steps);
  const Plan plan{.seed = first_seed, .branch = Branch{.step = step, .seed = 7}};
  const Outcome outcome = run_history(plan, nullptr, &branch);
  REQUIRE(steps.size() > step);
  CHECK(std::ranges::mismatch(steps, branch).in1 - steps.begin() == step - 1);
  CHECK(run_history(plan, nullptr, &again).hash == outcome.hash);
  CHECK(again == branch);
}

TEST_CASE("simulation: branches are tried where two programs do not do the same, and nowhere else") {
  const Plan plan{.seed = first_seed};
  Steps steps;
  run_history(plan, nullptr, &steps);
  std::uint64_t tried = 0;
  CHECK_FALSE(broken_branch(plan, steps, steps, 10, tried));
  CHECK(tried == 0);
  Steps others = steps;
  others[50] ^= 1;
  CHECK_FALSE(broken_branch(plan, steps, others, 10, tried));
  CHECK(tried == 10);
  // Of a program that breaks a promise soon it finds one, which breaks it once more.
  Plan broken = plan;
  broken.control = Control::no_durability;
  others.clear();
  const auto found = broken_branch(broken, steps, others, 10'000, tried);
  REQUIRE(found);
  REQUIRE(found->branch);
  CHECK_FALSE(run_history(*found).is_good());
}

TEST_CASE("simulation: without a remedy or an assumption it finds the repeat") {
  for (std::size_t i = 1; i < control_names.size(); ++i) {
    CAPTURE(control_names[i]);
    Plan plan{.seed = first_seed};
    plan.control = static_cast<Control>(i);
    // It takes several failovers in a row.
    if (plan.control == Control::word_of_all) plan.faults = 1U << static_cast<unsigned>(Fault::failover);
    CHECK(histories_until_repeated(plan, 5'000) > 0);
  }
}
