#pragma once

#include "leaf/store.hpp"
#include "range/refiller.hpp"
#include "segment/step_policy.hpp"

namespace leaf::segment {

/// A segment and what a buffer has to know of it.
struct Segment {
  Grant grant;
  range::Refill refill;
};

/// Has `store` grant a segment of the size that `policy` wishes for at `now`, and tells the policy. Throws
/// Error as Store::grant_segment().
Segment fetch_segment(Store& store, const TagName& tag, StepPolicy& policy, StepPolicy::Time now);

}  // namespace leaf::segment
