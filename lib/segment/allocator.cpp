#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>

#include "host/fork_mutex.hpp"
#include "host/host_marks.hpp"
#include "leaf/segment.hpp"
#include "range/refiller.hpp"
#include "segment/host_tag.hpp"
#include "segment/tag_buffer.hpp"

namespace leaf {

namespace {

/// Where handles of tags in shared memory look first: it is always empty, so that they go on to the source.
range::DoubleBuffer& empty_buffer() {
  static range::DoubleBuffer buffer;
  return buffer;
}

}  // namespace

SegmentTag::SegmentTag(range::DoubleBuffer* buffer, segment::TagSource* source)
    : buffer_(buffer), source_(source) {}

std::int64_t SegmentTag::next_closely() {
  return next_range(1).lo;
}

void SegmentTag::request_fetch() {
  source_->request_fetch();
}

Range SegmentTag::next_range(std::uint64_t at_most) {
  if (at_most == 0) throw Error(ErrorCode::usage, "a range of no IDs was asked for");
  return source_->take(at_most);
}

std::vector<Range> SegmentTag::next_ranges(std::uint64_t count) {
  return source_->take_all(count);
}

std::int64_t SegmentTag::limit() const {
  return source_->limit();
}

std::int64_t SegmentTag::left() const {
  return source_->left();
}

bool SegmentTag::claim_fetch() {
  return source_->claim_fetch();
}

void SegmentTag::fetch() {
  source_->fetch();
}

void SegmentTag::next(std::span<std::int64_t> ids) {
  while (!ids.empty()) {
    const Range range = next_range(ids.size());
    for (std::size_t i = 0; i < range.size(); ++i) ids[i] = range.lo + static_cast<std::int64_t>(i);
    ids = ids.subspan(range.size());
  }
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
    result.on_failure = [report = options.on_fetch_failure](const range::Refillable& buffer,
                                                            const Error& error) {
      report(dynamic_cast<const segment::TagSource&>(buffer).tag(), error);
    };
  }
  return result;
}

}  // namespace

class SegmentAllocator::Impl {
 public:
  Impl(StoreOptions store, SegmentOptions options)
      : store_(host::to_keep(std::move(store), options.host)),
        options_(std::move(options)),
        refiller_(store_, refiller_options(options_)) {}

  SegmentTag tag(const TagName& name) {
    const std::lock_guard lock(mutex_);
    if (options_.host) {
      auto& tag = host_tags_[name];
      if (!tag) tag = make_host_tag(name);
      return SegmentTag(&empty_buffer(), tag.get());
    }
    auto& tag = tags_[name];
    if (!tag) {
      tag = std::make_unique<segment::TagBuffer>(name, refiller_, options_.max_step, *store_.clock);
      refiller_.watch(*tag);
    }
    return SegmentTag(&tag->buffer, tag.get());
  }

 private:
  std::unique_ptr<segment::HostTag> make_host_tag(const TagName& name) {
    return std::make_unique<segment::HostTag>(store_, *options_.host, name, options_.max_step,
                                              options_.timeout,
                                              options_.host->fetch_ahead ? &refiller_ : nullptr);
  }

  const StoreOptions store_;
  const SegmentOptions options_;
  host::ForkMutex mutex_;
  std::map<TagName, std::unique_ptr<segment::TagBuffer>> tags_;
  std::map<TagName, std::unique_ptr<segment::HostTag>> host_tags_;
  range::Refiller refiller_;  // ends its threads before the tags go
};

SegmentAllocator::SegmentAllocator(StoreOptions store, SegmentOptions options)
    : impl_(std::make_unique<Impl>(std::move(store), std::move(options))) {}
SegmentAllocator::~SegmentAllocator() = default;

SegmentTag SegmentAllocator::tag(const TagName& name) {
  return impl_->tag(name);
}

}  // namespace leaf
