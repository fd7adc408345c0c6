#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>

#include "host/fork_mutex.hpp"
#include "host/host_marks.hpp"
#include "leaf/segment.hpp"
#include "range/fetcher.hpp"
#include "range/own_ranges.hpp"
#include "segment/segment_granter.hpp"
#include "segment/shared_tag.hpp"
#include "store/fork_generation.hpp"

namespace leaf {

SegmentTag::SegmentTag(range::RangeSource* source) : buffer_(&source->current_buffer()), source_(source) {}

std::int64_t SegmentTag::next_closely() {
  return next_range(1).lo;
}

bool SegmentTag::try_next_closely(std::int64_t& id) {
  const range::DoubleBuffer::Taken taken = buffer_->load(std::memory_order_acquire)->take(1);
  // Where there is none, whoever waits for one asks: a failure is told to who asked.
  if (taken.range.empty()) return false;
  if (taken.fetch_next) request_fetch();
  id = taken.range.lo;
  return true;
}

void SegmentTag::request_fetch() {
  source_->request_fetch();
}

Range SegmentTag::try_next_range(std::uint64_t at_most) {
  const range::DoubleBuffer::Taken taken = buffer_->load(std::memory_order_acquire)->take(at_most);
  if (taken.fetch_next) request_fetch();
  return taken.range;
}

Range SegmentTag::try_next_run(std::uint64_t count) {
  range::DoubleBuffer& buffer = *buffer_->load(std::memory_order_acquire);
  for (;;) {
    const auto view = buffer.view();
    const bool is_in_rest = view.rest.size() >= count;
    const Range& from = is_in_rest ? view.rest : view.next;
    if (from.size() < count) return {};
    const Range run{from.lo, from.lo + static_cast<std::int64_t>(count)};
    if (!(is_in_rest ? buffer.take_up_to(view, run.hi) : buffer.take_next_up_to(view, run.hi))) continue;
    if (!(is_in_rest && view.has_next) && buffer.view().mark_reached) request_fetch();
    return run;
  }
}

Range SegmentTag::next_range(std::uint64_t at_most) {
  if (at_most == 0) throw Error(ErrorCode::usage, "a range of no IDs was asked for");
  return source_->take(at_most);
}

std::vector<Range> SegmentTag::next_ranges(std::uint64_t count) {
  return source_->take_all(count);
}

std::uint64_t SegmentTag::buffered() const noexcept {
  return range::left_in(*buffer_->load(std::memory_order_acquire));
}

std::int64_t SegmentTag::limit() const {
  return supply().limit;
}

TagSupply SegmentTag::supply() const {
  const auto last = range::record_as<range::SegmentRecord>(source_->record());
  return supply_of(last.start, last.limit, last.granted_end, range::left_in(source_->buffer()));
}

std::int64_t SegmentTag::left() const {
  return supply().left;
}

StoreIdentity SegmentTag::store() const {
  return source_->granted_by();
}

std::uint64_t SegmentTag::store_changes() const noexcept {
  return source_->store_changes();
}

bool SegmentTag::is_fetch_due() {
  return source_->is_fetch_due();
}

bool SegmentTag::claim_fetch() {
  return source_->claim_fetch();
}

bool SegmentTag::is_check_due() {
  return source_->is_check_due();
}

void SegmentTag::fetch() {
  source_->fetch();
}

void SegmentTag::next(std::span<std::int64_t> ids) {
  if (ids.empty()) return;
  const auto fill = [&ids](Range range) {
    std::iota(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(range.size()), range.lo);
    ids = ids.subspan(range.size());
  };
  range::CallDeadline deadline;
  const range::RangeSource::Piece first = source_->take_piece(ids.size(), deadline);
  if (first.range.size() == ids.size()) return fill(first.range);
  for (const Range range : source_->take_rest(first, ids.size(), deadline)) fill(range);
}

namespace {

/// Who has set a bound of their own keeps it.
std::int64_t max_starved_step(const SegmentOptions& options) {
  constexpr std::int64_t usual = std::int64_t{1} << 26;
  return options.max_starved_step.value_or(options.max_step < max_step ? options.max_step : usual);
}

range::Fetcher::Options fetcher_options(const SegmentOptions& options) {
  if (options.timeout < std::chrono::milliseconds::zero()) {
    throw Error(ErrorCode::usage, "the timeout is below zero");
  }
  if (options.max_step < 1 || options.max_step > max_step) {
    throw Error(ErrorCode::usage, fmt::format("max_step is not from 1 to {}", max_step));
  }
  if (max_starved_step(options) < 1 || max_starved_step(options) > max_segment) {
    throw Error(ErrorCode::usage, fmt::format("max_starved_step is not from 1 to {}", max_segment));
  }
  if (options.max_connections < 1) throw Error(ErrorCode::usage, "max_connections is below 1");
  const bool fetches_ahead = !options.host || options.host->fetch_ahead;
  range::Fetcher::Options result{.timeout = options.timeout,
                                 .max_threads = fetches_ahead ? options.max_connections : 0,
                                 .on_failure = {}};
  if (options.on_fetch_failure) {
    result.on_failure = [report = options.on_fetch_failure](const range::RangeSource& source,
                                                            const Error& error) {
      report(TagName(source.granter().name()), error);
    };
  }
  return result;
}

}  // namespace

class SegmentAllocator::Impl {
 public:
  Impl(StoreOptions store, SegmentOptions options)
      : store_(host::to_keep(std::move(store), options.host)),
        options_(host::to_keep_for(store_, std::move(options))),
        commons_{.stores = std::make_shared<host::StorePool>(store_, std::max(options_.max_connections, 1))},
        fetcher_(store_, fetcher_options(options_)) {}

  bool is_of_another_process() const noexcept { return process_ != store::fork_generation(); }

  SegmentTag tag(const TagName& name) {
    const std::lock_guard lock(mutex_);
    auto& source = sources_[name];
    if (!source) {
      source = make_source(name);
      if (!options_.host || options_.host->fetch_ahead) fetcher_.watch(*source);
    }
    return SegmentTag(source.get());
  }

 private:
  std::unique_ptr<range::RangeSource> make_source(const TagName& name) {
    const segment::StepBounds bounds{.max_step = options_.max_step,
                                     .max_starved_step = max_starved_step(options_)};
    if (options_.host) {
      if (!commons_.folder) commons_.folder = std::make_shared<host::CurrentFolder>(*options_.host);
      return std::make_unique<segment::SharedTag>(store_, *options_.host, name, bounds, options_.timeout,
                                                  options_.host->fetch_ahead ? &fetcher_ : nullptr, commons_);
    }
    return std::make_unique<range::OwnRanges>(std::make_unique<segment::SegmentGranter>(name, bounds, store_),
                                              store_, fetcher_);
  }

  const unsigned process_ = store::fork_generation();
  const StoreOptions store_;
  const SegmentOptions options_;
  host::ForkMutex mutex_;
  host::Commons commons_;  ///< its stores are for those who wait; the fetcher has its own
  std::map<TagName, std::unique_ptr<range::RangeSource>> sources_;
  range::Fetcher fetcher_;  // ends its threads before the sources go
};

SegmentAllocator::SegmentAllocator(StoreOptions store, SegmentOptions options)
    : impl_(std::make_unique<Impl>(std::move(store), std::move(options))) {}
SegmentAllocator::~SegmentAllocator() {
  // Its threads are the parent's.
  if (impl_->is_of_another_process()) static_cast<void>(impl_.release());
}

SegmentTag SegmentAllocator::tag(const TagName& name) {
  return impl_->tag(name);
}

}  // namespace leaf
