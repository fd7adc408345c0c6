#include "segment/tag_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace leaf::segment {

range::Refill TagBuffer::refill(Store& store) {
  const auto now = clock_.steady_now();
  const std::int64_t wish =
      std::min(step_policy_.wish(now), max_step);  // a taken-over tag may have a longer step
  const Grant grant = store.grant_segment(name, wish);
  if (grant.range.size() > range::DoubleBuffer::max_size) {
    throw Error(ErrorCode::failed,
                fmt::format("tag '{}' has a step of {}: too long for a buffer", name.str(), grant.step),
                fmt::format("lower it with 'leafctl tags update {} --step N'", name.str()));
  }
  step_policy_.fetched(wish, grant.step, now);
  // As in Leaf the next segment is due when a tenth of this one is used.
  const auto mark = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, grant.range.size() / 10));
  return {.range = grant.range, .mark = mark};
}

std::string TagBuffer::what() const {
  return fmt::format("segment of tag '{}'", name.str());
}

}  // namespace leaf::segment
