#include "segment/step_policy.hpp"

#include <algorithm>

namespace leaf::segment {

std::int64_t StepPolicy::wish(Time now) const {
  if (history_.fetches < 2) return 0;
  const auto lasted = now - history_.last_fetch;
  if (lasted < std::chrono::minutes(15)) {
    const bool is_too_short = history_.starved && lasted < std::chrono::seconds(1);
    return std::max(history_.step,
                    std::min(history_.step * 2, is_too_short ? bounds_.max_starved_step : bounds_.max_step));
  }
  if (lasted < std::chrono::minutes(30)) return history_.step;
  return std::max(history_.step / 2, history_.tag_step);
}

void StepPolicy::fetched(std::int64_t wish, std::int64_t tag_step, Time now, bool starved) {
  history_.tag_step = tag_step;
  history_.step = std::max(wish, tag_step);
  history_.last_fetch = now;
  history_.starved = starved;
  history_.fetches = std::min(history_.fetches + 1, 2);
}

}  // namespace leaf::segment
