#include <array>
#include <optional>

#include "simulation/history.hpp"

namespace leaf::simulation {

namespace {

/// With other choices of chance: what is left out changes all that follows.
std::optional<Plan> broken_like(Plan plan) {
  constexpr std::uint64_t attempts = 300;
  const std::uint64_t first = plan.seed;
  for (std::uint64_t i = 0; i < attempts; ++i) {
    plan.seed = first + i;
    if (!run_history(plan).is_good()) return plan;
  }
  return std::nullopt;
}

}  // namespace

Plan shortened(const Plan& plan) {
  Plan shortest = plan;
  const auto try_with = [&](auto change) {
    Plan smaller = shortest;
    change(smaller);
    const auto found = broken_like(smaller);
    if (found) shortest = *found;
    return found.has_value();
  };
  for (std::size_t i = 0; i < fault_names.size(); ++i) {
    if (shortest.may(static_cast<Fault>(i))) try_with([&](Plan& smaller) { smaller.faults &= ~(1U << i); });
  }
  const auto halve = [&](int Plan::*size) {
    while (shortest.*size > 1 && try_with([&](Plan& smaller) { smaller.*size /= 2; })) {
    }
  };
  halve(&Plan::most_calls);
  halve(&Plan::most_hosts);
  halve(&Plan::most_slots);
  return shortest;
}

}  // namespace leaf::simulation
