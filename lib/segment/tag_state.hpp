#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <optional>

#include "leaf/detail/double_buffer.hpp"
#include "leaf/error.hpp"
#include "leaf/segment.hpp"
#include "segment/step_policy.hpp"

namespace leaf::segment {

class Fetcher;

/// What an allocator knows of one tag. The buffer and `fetch_requested` are for all threads; the rest is
/// guarded by the fetcher's mutex.
struct TagState {
  TagState(TagName tag_name, Fetcher& its_fetcher, StepPolicy policy)
      : name(std::move(tag_name)), fetcher(its_fetcher), step_policy(policy) {}

  range::DoubleBuffer buffer;
  std::atomic<bool> fetch_requested{false};

  const TagName name;
  Fetcher& fetcher;

  StepPolicy step_policy;
  bool queued = false;
  std::chrono::steady_clock::time_point due;  ///< when queued: not to be fetched before
  std::uint64_t fetches_begun = 0;
  int failures_in_a_row = 0;
  std::optional<Error> failure;     ///< of the last fetch, if it failed
  std::condition_variable changed;  ///< a fetch has ended
};

}  // namespace leaf::segment
