#include "segment/tag_source.hpp"

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

void append(std::vector<Range>& ranges, Range range) {
  if (!ranges.empty() && ranges.back().hi == range.lo) {
    ranges.back().hi = range.hi;
  } else {
    ranges.push_back(range);
  }
}

}  // namespace leaf::segment
