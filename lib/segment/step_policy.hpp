#pragma once

#include <chrono>
#include <cstdint>

namespace leaf::segment {

/// What is known of a tag's pace; nothing in a new one. Times are of one clock, whichever it is.
struct StepHistory {
  std::int64_t step = 0;  ///< of the last fetch
  std::int64_t tag_step = 0;
  int fetches = 0;  ///< 0, 1, or 2 for more
  std::chrono::steady_clock::time_point last_fetch{};
};

/// How many IDs to ask for, after Leaf's rule: a segment that lasted under 15 minutes doubles the step, one
/// that lasted under 30 keeps it, a longer one halves it; never above `max_step` nor below the tag's own
/// step. As in Leaf the first two segments have the tag's step, since nothing is known of the pace yet. Not
/// thread safe.
class StepPolicy {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit StepPolicy(std::int64_t max_step, const StepHistory& history = {})
      : max_step_(max_step), history_(history) {}

  /// The wish for a fetch at `now`; 0 leaves it to the tag's own step.
  std::int64_t wish(Time now) const;
  /// Tells of a fetch that was made with `wish`, at `now`, when the tag's own step was `tag_step`.
  void fetched(std::int64_t wish, std::int64_t tag_step, Time now);

  const StepHistory& history() const { return history_; }

 private:
  std::int64_t max_step_;
  StepHistory history_;
};

}  // namespace leaf::segment
