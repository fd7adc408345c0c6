#include "segment/tag_buffer.hpp"

#include <fmt/format.h>

#include "segment/segment_fetch.hpp"

namespace leaf::segment {

Range TagBuffer::take(std::uint64_t at_most) {
  auto taken = buffer.take(at_most);
  if (taken.range.empty()) {
    refiller_.await(*this, [&] {
      taken = buffer.take(at_most);
      return !taken.range.empty();
    });
  }
  if (taken.fetch_next) request_fetch();
  return taken.range;
}

range::Refill TagBuffer::refill(Store& store) {
  Segment segment = fetch_segment(store, tag(), step_policy_, clock_.steady_now());
  limit_.store(segment.grant.limit, std::memory_order_relaxed);
  segment.refill.replaces_rest = !incarnation_.empty() && incarnation_ != segment.grant.incarnation;
  incarnation_ = segment.grant.incarnation;
  return segment.refill;
}

std::int64_t TagBuffer::left() {
  const auto view = buffer.view();
  return left_up_to(limit(), buffer.published_end(), view.rest.size() + view.next.size());
}

std::string TagBuffer::what() const {
  return fmt::format("segment of tag '{}'", tag().str());
}

}  // namespace leaf::segment
