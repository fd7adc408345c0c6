#include "segment/step_policy.hpp"

#include <algorithm>

namespace leaf::segment {

std::int64_t StepPolicy::wish(Time now) const {
  if (fetches_ < 2) return 0;
  const auto lasted = now - last_fetch_;
  if (lasted < std::chrono::minutes(15)) return std::max(step_, std::min(step_ * 2, max_step_));
  if (lasted < std::chrono::minutes(30)) return step_;
  return std::max(step_ / 2, tag_step_);
}

void StepPolicy::fetched(std::int64_t wish, std::int64_t tag_step, Time now) {
  tag_step_ = tag_step;
  step_ = std::max(wish, tag_step);
  last_fetch_ = now;
  fetches_ = std::min(fetches_ + 1, 2);
}

}  // namespace leaf::segment
