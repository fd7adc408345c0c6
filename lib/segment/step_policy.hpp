#pragma once

#include <cstdint>

#include "leaf/tag.hpp"
#include "range/granter.hpp"

namespace leaf::segment {

/// The bounds of the dynamic step.
struct StepBounds {
  std::int64_t max_step = leaf::max_step;          ///< Leaf's maximum
  std::int64_t max_starved_step = leaf::max_step;  ///< beyond that, while takers wait for the store
};

/// How many IDs to ask for, after Leaf's rule: a segment that lasted under 15 minutes doubles the step, one
/// that lasted under 30 keeps it, a longer one halves it; never above the maximum nor below the tag's own
/// step. As in Leaf the first two segments have the tag's step, since nothing is known of the pace yet.
/// Beyond Leaf's rule, a segment that did not last for one fetch, nor for a second, doubles the step further.
/// Not thread safe.
class StepPolicy {
 public:
  using Time = UnixTime;

  explicit StepPolicy(const StepBounds& bounds, const range::StepHistory& history = {})
      : bounds_(bounds), history_(history) {}

  /// The wish for a fetch at `now`; 0 leaves it to the tag's own step.
  std::int64_t wish(Time now) const;
  /// Tells of a fetch that was made with `wish`, at `now`, when the tag's own step was `tag_step`.
  /// `starved` if takers had used up all before it came.
  void fetched(std::int64_t wish, std::int64_t tag_step, Time now, bool starved = false);

  const range::StepHistory& history() const { return history_; }

 private:
  StepBounds bounds_;
  range::StepHistory history_;
};

}  // namespace leaf::segment
