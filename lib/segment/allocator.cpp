#include <map>
#include <memory>
#include <mutex>

#include "leaf/segment.hpp"
#include "segment/fetcher.hpp"
#include "segment/tag_state.hpp"

namespace leaf {

SegmentTag::SegmentTag(segment::TagState* state) : buffer_(&state->buffer), state_(state) {}

std::int64_t SegmentTag::next_closely() {
  return next_range(1).lo;
}

void SegmentTag::request_fetch() {
  state_->fetcher.request(*state_);
}

Range SegmentTag::next_range(std::uint64_t at_most) {
  if (at_most == 0) throw Error(ErrorCode::usage, "a range of no IDs was asked for");
  const auto taken = state_->buffer.take(at_most);
  if (taken.fetch_next) [[unlikely]] {
    if (taken.range.empty()) return state_->fetcher.wait_and_take(*state_, at_most);
    state_->fetcher.request(*state_);
  }
  return taken.range;
}

void SegmentTag::next(std::span<std::int64_t> ids) {
  while (!ids.empty()) {
    const Range range = next_range(ids.size());
    for (std::size_t i = 0; i < range.size(); ++i) ids[i] = range.lo + static_cast<std::int64_t>(i);
    ids = ids.subspan(range.size());
  }
}

std::vector<Range> SegmentTag::next_ranges(std::uint64_t count) {
  std::vector<Range> ranges;
  while (count > 0) {
    const Range range = next_range(count);
    count -= range.size();
    if (!ranges.empty() && ranges.back().hi == range.lo) {
      ranges.back().hi = range.hi;
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

class SegmentAllocator::Impl {
 public:
  Impl(StoreOptions store, SegmentOptions options)
      : max_step_(options.max_step), fetcher_(std::move(store), std::move(options)) {}

  segment::TagState* state(const TagName& name) {
    const std::lock_guard lock(mutex_);
    auto& state = states_[name];
    if (!state) state = std::make_unique<segment::TagState>(name, fetcher_, segment::StepPolicy(max_step_));
    return state.get();
  }

 private:
  const std::int64_t max_step_;
  std::mutex mutex_;
  std::map<TagName, std::unique_ptr<segment::TagState>> states_;
  segment::Fetcher fetcher_;  // ends its threads before the states go
};

SegmentAllocator::SegmentAllocator(StoreOptions store, SegmentOptions options)
    : impl_(std::make_unique<Impl>(std::move(store), std::move(options))) {}
SegmentAllocator::~SegmentAllocator() = default;

SegmentTag SegmentAllocator::tag(const TagName& name) {
  return SegmentTag(impl_->state(name));
}

}  // namespace leaf
