#include "segment/step_policy.hpp"

#include <algorithm>

namespace leaf::segment {

std::int64_t StepPolicy::wish(Time now) const {
  if (history_.fetches < 2) return 0;
  // A damaged file may say anything. Where a tag's own step is longer the store keeps to that.
  const std::int64_t longest = std::max(bounds_.max_step, bounds_.max_starved_step);
  const std::int64_t step = std::clamp<std::int64_t>(history_.step, 0, longest);
  const auto lasted = now - history_.last_fetch;
  if (lasted < std::chrono::minutes(15)) {
    const bool is_too_short = history_.starved && lasted < std::chrono::seconds(1);
    return std::max(step, std::min(step * 2, is_too_short ? bounds_.max_starved_step : bounds_.max_step));
  }
  if (lasted < std::chrono::minutes(30)) return step;
  return std::max(step / 2, std::min(history_.tag_step, longest));
}

void StepPolicy::fetched(std::int64_t wish, std::int64_t tag_step, Time now, bool starved) {
  history_.tag_step = tag_step;
  history_.step = std::max(wish, tag_step);
  history_.last_fetch = now;
  history_.starved = starved;
  history_.fetches = std::min(history_.fetches + 1, 2);
}

}  // namespace leaf::segment
