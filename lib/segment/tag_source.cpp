#include "segment/tag_source.hpp"

#include <algorithm>

namespace leaf::segment {

std::vector<Range> TagSource::take_all(std::uint64_t count) {
  std::vector<Range> ranges;
  while (count > 0) {
    const Range range = take(count);
    count -= range.size();
    append(ranges, range);
  }
  return ranges;
}

std::int64_t left_up_to(std::int64_t limit, std::int64_t granted_end, std::uint64_t buffered) {
  const std::int64_t in_store = granted_end > limit ? 0 : limit - std::max<std::int64_t>(granted_end, 1) + 1;
  return in_store + static_cast<std::int64_t>(buffered);
}

void append(std::vector<Range>& ranges, Range range) {
  if (!ranges.empty() && ranges.back().hi == range.lo) {
    ranges.back().hi = range.hi;
  } else {
    ranges.push_back(range);
  }
}

}  // namespace leaf::segment
