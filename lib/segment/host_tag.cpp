#include "segment/host_tag.hpp"

#include <algorithm>
#include <optional>

#include "leaf/error.hpp"
#include "store/grant_marks.hpp"
#include "store/tag_error.hpp"

namespace leaf::segment {

namespace {

using std::chrono::milliseconds;

std::int64_t load(const host::Shared<std::int64_t>& value) {
  return value.load(std::memory_order_relaxed);
}

void store_in(host::Shared<std::int64_t>& value, std::int64_t number) {
  value.store(number, std::memory_order_relaxed);
}

StepHistory history_of(const host::TagRecord& record) {
  return {.step = load(record.step),
          .tag_step = load(record.tag_step),
          .fetches = static_cast<int>(load(record.fetches)),
          .last_fetch = StepPolicy::Time(milliseconds(load(record.last_fetch_ms)))};
}

std::uint64_t left_in(const range::DoubleBuffer& buffer) {
  const auto view = buffer.view();
  return view.rest.size() + view.next.size();
}

}  // namespace

HostTag::HostTag(const StoreOptions& store, const HostOptions& host, const TagName& tag,
                 std::int64_t max_step, milliseconds timeout, range::Refiller* refiller)
    : TagSource(tag),
      SharedBuffer(store, host, host::FileKind::tag, tag.str(), tag.str(), timeout),
      max_step_(max_step),
      refiller_(refiller) {
  if (refiller_ != nullptr) refiller_->watch(*this);
}

Range HostTag::take(std::uint64_t at_most) {
  auto taken = buffer().take(at_most);
  if (taken.range.empty()) {
    await([&] {
      taken = buffer().take(at_most);
      return !taken.range.empty();
    });
  }
  if (taken.fetch_next) request_fetch();
  return taken.range;
}

void HostTag::request_fetch() {
  if (refiller_ != nullptr && claim_fetch()) refiller_->request(*this);
}

std::int64_t HostTag::limit() {
  const std::int64_t limit = load(state().tag.limit);
  return limit == 0 ? leaf::max_id : limit;
}

std::int64_t HostTag::left() {
  return left_up_to(limit(), load(state().tag.granted_end), left_in(buffer()));
}

std::vector<Range> HostTag::take_all(std::uint64_t count) {
  for (;;) {
    const int moves_before = moves();
    try {
      std::vector<Range> ranges = take_from_one_store(count);
      // IDs of two stores would be no answer: where the name led to another one meanwhile the first are lost.
      if (moves() == moves_before) return ranges;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::exhausted) throw counting_what_is_buffered(error);
      throw;
    }
  }
}

/// A store that is used up knows nothing of what this host still has.
Error HostTag::counting_what_is_buffered(const Error& exhausted) {
  std::optional<Error> counted;
  try {
    alone([&](Store& store, host::StateFile& file) {
      counted = store::too_few_left(store.tag(tag()), left_in(file.state().buffer));
      return true;
    });
  } catch (const Error&) {
    // What the store said is all that is known then.
  }
  return counted.value_or(exhausted);
}

std::vector<Range> HostTag::take_from_one_store(std::uint64_t count) {
  std::vector<Range> ranges;
  while (count > 0) {
    if (is_more_than_a_fetch_brings(count)) {
      for (const Range range : take_in_one_piece(count)) append(ranges, range);
      return ranges;
    }
    fetch_before_taking(count);
    const Range range = take(count);
    count -= range.size();
    append(ranges, range);
  }
  return ranges;
}

/// So that nothing is lost if the tag has no more.
void HostTag::fetch_before_taking(std::uint64_t count) {
  for (;;) {
    range::DoubleBuffer& own = buffer();
    const auto view = own.view();
    if (view.rest.size() + view.next.size() >= count) return;
    if (view.has_next) {
      if (!view.rest.empty()) return;
      own.advance(view);
    } else {
      await([&] { return left_in(buffer()) >= count || !wants_fetch(); });
    }
  }
}

/// Not before the first fetch: the step is not known until then.
bool HostTag::is_more_than_a_fetch_brings(std::uint64_t count) {
  const auto step = static_cast<std::uint64_t>(load(state().tag.step));
  return step > 0 && count > step && count - step > left_in(buffer());
}

std::vector<Range> HostTag::take_in_one_piece(std::uint64_t count) {
  std::vector<Range> ranges;
  alone([&](Store& store, host::StateFile& file) {
    range::DoubleBuffer& buffer = file.state().buffer;
    ranges.clear();
    std::vector<Range> granted;
    const auto grant_more = [&](std::uint64_t more) {
      const auto before = stamp();
      const Grant grant = store.grant(tag(), static_cast<std::int64_t>(more));
      granted.push_back(grant.range);
      store_in(file.state().tag.granted_end, grant.range.hi);
      return !leads_elsewhere(grant.store, file, before);
    };
    // First the grant, so that nothing buffered is lost if it is refused.
    const std::uint64_t left = left_in(buffer);
    std::uint64_t wanted = std::min(count, left);
    if (count > left && !grant_more(count - left)) return false;
    // If anything was granted the buffer ends empty: whoever draws after this call gets higher IDs.
    while (wanted > 0) {
      const Range range = buffer.take(wanted).range;
      if (range.empty()) break;
      append(ranges, range);
      wanted -= range.size();
    }
    if (wanted > 0 && !grant_more(wanted)) return false;  // others have taken some meanwhile
    for (const Range range : granted) append(ranges, range);
    return true;
  });
  return ranges;
}

host::GrantedRange HostTag::grant(Store& store, host::StateFile& file) {
  const host::State& state = file.state();
  // Its own file may outlive the mark.
  marks().raise(file.identity().deployment, mark_of(tag()), state.buffer.published_end());
  StepPolicy policy(max_step_, history_of(state.tag));
  const Segment segment = fetch_segment(store, tag(), policy, StepPolicy::Time(milliseconds(now_ms())));
  history_ = policy.history();
  granted_ = segment.grant;
  return {.refill = segment.refill, .origin = granted_.incarnation};
}

void HostTag::note_granted(host::State& state) {
  host::TagRecord& record = state.tag;
  store_in(record.step, history_.step);
  store_in(record.tag_step, history_.tag_step);
  store_in(record.fetches, history_.fetches);
  store_in(record.last_fetch_ms,
           std::chrono::duration_cast<milliseconds>(history_.last_fetch.time_since_epoch()).count());
  store_in(record.limit, granted_.limit);
  store_in(record.granted_end, granted_.range.hi);
  store_in(record.used_before, load(record.used));
  store_in(record.used, load(record.granted) - static_cast<std::int64_t>(left_in(state.buffer)));
  store_in(record.granted, load(record.granted) + static_cast<std::int64_t>(granted_.range.size()));
}

}  // namespace leaf::segment
