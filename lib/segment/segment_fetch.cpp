#include "segment/segment_fetch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leaf::segment {

Segment fetch_segment(Store& store, const TagName& tag, StepPolicy& policy, StepPolicy::Time now) {
  const std::int64_t wish = std::min(policy.wish(now), max_step);  // a taken-over tag may have a longer step
  const Grant grant = store.grant_segment(tag, wish);
  if (grant.range.size() > range::DoubleBuffer::max_size) {
    throw Error(ErrorCode::failed,
                fmt::format("tag '{}' has a step of {}: too long for a buffer", tag.str(), grant.step),
                fmt::format("lower it with 'leafctl tags update {} --step N'"_hint, tag.str()));
  }
  policy.fetched(wish, grant.step, now);
  // As in Leaf the next segment is due when a tenth of this one is used.
  const auto mark = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, grant.range.size() / 10));
  return {.grant = grant, .refill = {.range = grant.range, .mark = mark, .store = grant.store}};
}

}  // namespace leaf::segment
