#include "segment/step_policy.hpp"

#include <doctest/doctest.h>

#include <vector>

using leaf::segment::StepPolicy;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

/// Fetches after each of `pauses` and returns the steps that were used.
std::vector<std::int64_t> steps_after(StepPolicy& policy, std::int64_t tag_step,
                                      const std::vector<seconds>& pauses) {
  StepPolicy::Time now{};
  std::vector<std::int64_t> steps;
  for (const seconds pause : pauses) {
    now += pause;
    const std::int64_t wish = policy.wish(now);
    policy.fetched(wish, tag_step, now);
    steps.push_back(std::max(wish, tag_step));
  }
  return steps;
}

using Steps = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("step policy: the first two segments have the tag's step, quick ones double it from the third on") {
  StepPolicy policy({.max_step = 1'000'000, .max_starved_step = 1'000'000'000});
  CHECK(steps_after(policy, 1000, {seconds(0), seconds(1), seconds(1), seconds(1)}) ==
        Steps{1000, 1000, 2000, 4000});
}

TEST_CASE("step policy: fifteen minutes keep the step and thirty halve it") {
  StepPolicy policy({.max_step = 1'000'000, .max_starved_step = 1'000'000'000});
  const auto quick = seconds(minutes(15)) - seconds(1);
  CHECK(
      steps_after(policy, 1000, {seconds(0), quick, quick, minutes(15), seconds(minutes(30)) - seconds(1)}) ==
      Steps{1000, 1000, 2000, 2000, 2000});
  StepPolicy slow({.max_step = 1'000'000, .max_starved_step = 1'000'000'000});
  CHECK(steps_after(slow, 1000, {seconds(0), quick, quick, quick, minutes(30), minutes(31)}) ==
        Steps{1000, 1000, 2000, 4000, 2000, 1000});
}

TEST_CASE("step policy: the step stays between the tag's own and the maximum") {
  StepPolicy policy({.max_step = 5000, .max_starved_step = 1'000'000'000});
  CHECK(steps_after(policy, 2000, {seconds(0), seconds(1), seconds(1), seconds(1), seconds(1)}) ==
        Steps{2000, 2000, 4000, 5000, 5000});
  StepPolicy slow({.max_step = 5000, .max_starved_step = 1'000'000'000});
  CHECK(steps_after(slow, 3000, {seconds(0), seconds(1), seconds(1), minutes(40), minutes(40)}) ==
        Steps{3000, 3000, 5000, 3000, 3000});
}

TEST_CASE("step policy: a tag's step above the maximum is not lowered") {
  StepPolicy policy({.max_step = 1000, .max_starved_step = 1'000'000'000});
  CHECK(steps_after(policy, 2000, {seconds(0), seconds(1), seconds(1), seconds(1)}) ==
        Steps{2000, 2000, 2000, 2000});
}

TEST_CASE("step policy: a new step of the tag is the floor from the next fetch on") {
  StepPolicy policy({.max_step = 1'000'000, .max_starved_step = 1'000'000'000});
  CHECK(steps_after(policy, 1000, {seconds(0), seconds(1), seconds(1)}) == Steps{1000, 1000, 2000});
  const auto now = StepPolicy::Time{} + minutes(100);
  policy.fetched(policy.wish(now), 8000, now);
  CHECK(policy.wish(now + minutes(40)) == 8000);
}

TEST_CASE(
    "step policy: while takers wait for the store the step grows beyond the maximum, and shrinks again") {
  StepPolicy policy({.max_step = 5000, .max_starved_step = 30'000});
  auto now = StepPolicy::Time{};
  const auto after = [&](std::chrono::milliseconds pause, bool starved) {
    now += pause;
    const std::int64_t wish = policy.wish(now);
    policy.fetched(wish, 4000, now, starved);
    return std::max<std::int64_t>(wish, 4000);
  };
  const std::chrono::milliseconds quick(20);
  CHECK(after(quick, true) == 4000);
  CHECK(after(quick, true) == 4000);
  CHECK(after(quick, true) == 8000);
  CHECK(after(quick, true) == 16'000);
  CHECK(after(quick, false) == 30'000);
  CHECK(after(quick, true) == 30'000);  // the segment before it lasted
  CHECK(after(quick, true) == 30'000);
  CHECK(after(minutes(29), true) == 30'000);
  CHECK(after(minutes(31), true) == 15'000);
  CHECK(after(seconds(1), true) == 15'000);  // that the store was away for long is no reason
  CHECK(after(minutes(31), true) == 7500);
  CHECK(after(minutes(31), true) == 4000);
}

TEST_CASE("step policy: a history that was damaged leads to no longer step than the maximum") {
  for (const std::int64_t damaged : {std::int64_t{1} << 31, std::int64_t{1} << 62, std::int64_t{-1} << 62}) {
    const StepPolicy policy({.max_step = 1000, .max_starved_step = 2000},
                            {.step = damaged, .tag_step = damaged, .fetches = 2});
    for (const minutes pause : {minutes(0), minutes(20), minutes(40)}) {
      CHECK(policy.wish(StepPolicy::Time{} + pause) >= 0);
      CHECK(policy.wish(StepPolicy::Time{} + pause) <= 2000);
    }
  }
}
