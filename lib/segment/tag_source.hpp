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
  /// How many IDs there are up to the limit: those buffered, and those that the store had left at the last
  /// grant.
  virtual std::int64_t left() = 0;

  virtual bool claim_fetch() { return false; }
  virtual void fetch() {}

 private:
  const TagName tag_;
};

/// What is left of a tag with that limit where ranges up to `granted_end` were granted and so much is still
/// buffered.
std::int64_t left_up_to(std::int64_t limit, std::int64_t granted_end, std::uint64_t buffered);

/// Adds `range` to ranges in increasing order.
void append(std::vector<Range>& ranges, Range range);

}  // namespace leaf::segment
