#include "segment/segment_granter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "leaf/error.hpp"
#include "range/range_source.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf::segment {

std::string SegmentGranter::what() const {
  return fmt::format("segment of tag '{}'", tag_.str());
}

range::Granted SegmentGranter::grant(Store& store, const range::Filled& filled) const {
  // A buffer may outlive the mark, which no damage of it may raise.
  const std::int64_t end = filled.buffer.published_end();
  if (end != 0 && marks_ && filled.buffer.is_intact())
    marks_->raise(filled.store.deployment, mark_of(tag_), end);
  auto record = range::record_as<range::SegmentRecord>(filled.record);
  StepPolicy policy(bounds_, record.steps);
  const UnixTime now = std::chrono::floor<std::chrono::milliseconds>(clock_.now());
  const std::int64_t wish = policy.wish(now);
  const Grant grant = store.grant_segment(tag_, wish);
  if (grant.range.size() > range::DoubleBuffer::max_size) {
    throw Error(ErrorCode::failed,
                fmt::format("tag '{}' has a step of {}: too long for a buffer", tag_.str(), grant.step),
                advice("lower it{}"_hint, Remedy{.kind = Remedy::Kind::change_step, .name = tag_.str()}));
  }
  policy.fetched(wish, grant.step, now, range::left_in(filled.buffer) == 0);
  record.steps = policy.history();
  record.start = grant.start;
  record.limit = grant.limit;
  record.granted_end = grant.range.hi;
  return {.range = grant.range,
          // As in Leaf the next segment is due when a tenth of this one is used.
          .mark = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, grant.range.size() / 10)),
          .store = grant.store,
          .origin = grant.incarnation,
          .record = record};
}

bool SegmentGranter::is_newest(Store& store, const range::Granted& granted) const {
  return store.tag(tag_).next_id == granted.range.hi;
}

}  // namespace leaf::segment
