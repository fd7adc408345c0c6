#include "segment/tag_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace leaf::segment {

range::Refill TagBuffer::refill(Store& store) {
  const auto now = clock_.steady_now();
  const std::int64_t wish = step_policy_.wish(now);
  const Grant grant = store.grant_segment(name, wish);
  step_policy_.fetched(wish, grant.step, now);
  // As in Leaf the next segment is due when a tenth of this one is used.
  const auto mark = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, grant.range.size() / 10));
  return {.range = grant.range, .mark = mark};
}

std::string TagBuffer::what() const {
  return fmt::format("segment of tag '{}'", name.str());
}

}  // namespace leaf::segment
