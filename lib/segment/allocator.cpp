#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>

#include "leaf/segment.hpp"
#include "range/refiller.hpp"
#include "segment/tag_buffer.hpp"

namespace leaf {

SegmentTag::SegmentTag(segment::TagBuffer* tag) : buffer_(&tag->buffer), tag_(tag) {}

std::int64_t SegmentTag::next_closely() {
  return next_range(1).lo;
}

void SegmentTag::request_fetch() {
  tag_->refiller.request(*tag_);
}

Range SegmentTag::next_range(std::uint64_t at_most) {
  if (at_most == 0) throw Error(ErrorCode::usage, "a range of no IDs was asked for");
  auto taken = buffer_->take(at_most);
  if (taken.range.empty()) {
    tag_->refiller.await(*tag_, [&] {
      taken = buffer_->take(at_most);
      return !taken.range.empty();
    });
  }
  if (taken.fetch_next) request_fetch();
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

namespace {

range::Refiller::Options refiller_options(const SegmentOptions& options) {
  if (options.timeout < std::chrono::milliseconds::zero()) {
    throw Error(ErrorCode::usage, "the timeout is below zero");
  }
  if (options.max_step < 1 || options.max_step > max_step) {
    throw Error(ErrorCode::usage, fmt::format("max_step is not from 1 to {}", max_step));
  }
  if (options.max_connections < 1) throw Error(ErrorCode::usage, "max_connections is below 1");
  range::Refiller::Options result{
      .timeout = options.timeout, .max_threads = options.max_connections, .on_failure = {}};
  if (options.on_fetch_failure) {
    result.on_failure = [report = options.on_fetch_failure](const range::RefilledBuffer& buffer,
                                                            const Error& error) {
      report(static_cast<const segment::TagBuffer&>(buffer).name, error);
    };
  }
  return result;
}

}  // namespace

class SegmentAllocator::Impl {
 public:
  Impl(StoreOptions store, const SegmentOptions& options)
      : clock_(*store.clock),
        max_step_(options.max_step),
        refiller_(std::move(store), refiller_options(options)) {}

  segment::TagBuffer* tag(const TagName& name) {
    const std::lock_guard lock(mutex_);
    auto& tag = tags_[name];
    if (!tag) {
      tag = std::make_unique<segment::TagBuffer>(name, refiller_, segment::StepPolicy(max_step_), clock_);
    }
    return tag.get();
  }

 private:
  Clock& clock_;
  const std::int64_t max_step_;
  std::mutex mutex_;
  std::map<TagName, std::unique_ptr<segment::TagBuffer>> tags_;
  range::Refiller refiller_;  // ends its threads before the tags go
};

SegmentAllocator::SegmentAllocator(StoreOptions store, SegmentOptions options)
    : impl_(std::make_unique<Impl>(std::move(store), options)) {}
SegmentAllocator::~SegmentAllocator() = default;

SegmentTag SegmentAllocator::tag(const TagName& name) {
  return SegmentTag(impl_->tag(name));
}

}  // namespace leaf
