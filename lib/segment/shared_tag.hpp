#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "host/shared_ranges.hpp"
#include "leaf/tag.hpp"
#include "segment/step_policy.hpp"

namespace leaf::segment {

/// The segments of one tag in the memory that all processes of a host share. Many IDs are granted in one
/// piece, beside the buffer.
class SharedTag final : public host::SharedRanges {
 public:
  /// As the constructor of SharedRanges.
  SharedTag(const StoreOptions& store, const HostOptions& host, const TagName& tag, const StepBounds& bounds,
            std::chrono::milliseconds timeout, range::Fetcher* fetcher, host::Commons commons);

  /// What is not buffered is granted in one piece, where it is more than a fetch would bring or there is no
  /// room for that: so a call that fails takes nothing.
  std::vector<Range> take_all(std::uint64_t count) override;

 private:
  Error counting_what_is_buffered(const Error& exhausted);
  bool is_more_than_a_fetch_brings(std::uint64_t count) const;
  std::vector<Range> take_in_one_piece(std::uint64_t count, const range::DoubleBuffer*& taken_from,
                                       range::CallDeadline& deadline);
  std::vector<Range> take_from_one_store(std::uint64_t count);

  const TagName tag_;
};

}  // namespace leaf::segment
