#pragma once

#include <cstdint>
#include <vector>

#include "leaf/range.hpp"
#include "leaf/tag.hpp"

namespace leaf::segment {

/// Where the handles of one tag draw: this process's memory, or the host's. For all threads.
class TagSource {
 public:
  explicit TagSource(const TagName& tag) : tag_(tag) {}
  virtual ~TagSource() = default;

  const TagName& tag() const noexcept { return tag_; }

  /// A run of 1 to `at_most` IDs. Waits where the buffer is empty, and throws Error as SegmentTag::next().
  virtual Range take(std::uint64_t at_most) = 0;
  /// `count` IDs in increasing order.
  virtual std::vector<Range> take_all(std::uint64_t count);
  /// Has the next segment fetched in the background, if that is this process's to do.
  virtual void request_fetch() = 0;
  /// The last ID that the tag may give, as of the last grant.
  virtual std::int64_t limit() = 0;

  virtual bool claim_fetch() { return false; }
  virtual void fetch() {}

 private:
  const TagName tag_;
};

/// Adds `range` to ranges in increasing order.
void append(std::vector<Range>& ranges, Range range);

}  // namespace leaf::segment
