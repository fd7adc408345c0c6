#include <algorithm>
#include <cstdint>
#include <optional>

#include "simulation/history.hpp"
#include "simulation/random.hpp"

namespace leaf::simulation {

namespace {

/// Half of them go on from the step that differs; the others let something else lead there, or follow.
std::int64_t some_step(std::int64_t differs, Random& random) {
  if (random.one_in(2)) return differs;
  return std::max<std::int64_t>(
      1, random.one_in(2) ? differs + random.below(8) : differs - random.spread(1, 64));
}

}  // namespace

std::optional<Plan> broken_branch(const Plan& plan, const Steps& steps, const Steps& others_steps,
                                  std::uint64_t most, std::uint64_t& tried) {
  const auto [differs, others] = std::ranges::mismatch(steps, others_steps);
  if (differs == steps.end() && others == others_steps.end()) return std::nullopt;
  const std::int64_t step = differs - steps.begin() + 1;
  Random random(plan.seed);
  Plan other = plan;
  for (std::uint64_t i = 0; i < most; ++i, ++tried) {
    other.branch = {.step = some_step(step, random), .seed = random.next() >> 32};
    if (!run_history(other).is_good()) return other;
  }
  return std::nullopt;
}

}  // namespace leaf::simulation
