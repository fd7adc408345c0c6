#include "segment/shared_tag.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "host/granted_record.hpp"
#include "leaf/error.hpp"
#include "segment/segment_granter.hpp"
#include "store/tag_error.hpp"

namespace leaf::segment {

using range::append;
using range::left_in;

SharedTag::SharedTag(const StoreOptions& store, const HostOptions& host, const TagName& tag,
                     const StepBounds& bounds, std::chrono::milliseconds timeout, range::Fetcher* fetcher,
                     host::Commons commons)
    : SharedRanges(std::make_unique<SegmentGranter>(tag, bounds, store), host::FileKind::tag, tag.str(),
                   store, host, timeout, fetcher, std::move(commons)),
      tag_(tag) {}

std::vector<Range> SharedTag::take_all(std::uint64_t count) {
  try {
    return take_from_one_store(count);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::exhausted) throw counting_what_is_buffered(error);
    throw;
  }
}

/// A store that is used up knows nothing of what this host still has.
Error SharedTag::counting_what_is_buffered(const Error& exhausted) {
  std::optional<Error> counted;
  range::CallDeadline deadline;
  try {
    alone(deadline, [&](Store& store, host::StateFile& file) {
      counted = store::too_few_left(store.tag(tag_), left_in(file.state().buffer));
      return true;
    });
  } catch (const Error&) {
    // What the store said is all that is known then.
  }
  return counted.value_or(exhausted);
}

std::vector<Range> SharedTag::take_from_one_store(std::uint64_t count) {
  std::vector<Range> ranges;
  const range::DoubleBuffer* taken_from = nullptr;
  std::uint64_t left = count;
  range::CallDeadline deadline;
  const auto add = [&](const range::DoubleBuffer* here, const std::vector<Range>& taken) {
    if (std::exchange(taken_from, here) != here) {
      // IDs of two stores would be no answer: the former ones are lost.
      ranges.clear();
      left = count;
    }
    for (const Range range : taken) {
      left -= range.size();
      append(ranges, range);
    }
  };
  while (left > 0) {
    if (!is_more_than_a_fetch_brings(left) && fetch_before_taking(left, deadline)) {
      const Piece piece = take_piece(left, deadline);
      add(piece.buffer, {piece.range});
    } else {
      const range::DoubleBuffer* here = nullptr;
      const std::vector<Range> taken = take_in_one_piece(left, here, deadline);
      add(here, taken);
    }
  }
  return ranges;
}

/// Not before the first fetch: the step is not known until then.
bool SharedTag::is_more_than_a_fetch_brings(std::uint64_t count) const {
  const auto step = static_cast<std::uint64_t>(range::record_as<range::SegmentRecord>(record()).steps.step);
  return step > 0 && count > step && count - step > left_in(buffer());
}

std::vector<Range> SharedTag::take_in_one_piece(std::uint64_t count, const range::DoubleBuffer*& taken_from,
                                                range::CallDeadline& deadline) {
  std::vector<Range> ranges;
  alone(deadline, [&](Store& store, host::StateFile& file) {
    range::DoubleBuffer& buffer = file.state().buffer;
    taken_from = &buffer;
    ranges.clear();
    std::vector<Range> granted;
    const auto grant_more = [&](std::uint64_t more) {
      const auto question = ask(store);
      const Grant grant = store.grant(tag_, static_cast<std::int64_t>(more));
      if (leads_elsewhere(grant.store, file, question)) return false;
      granted.push_back(grant.range);
      auto record = range::record_as<range::SegmentRecord>(host::record_of(file.state()));
      record.start = grant.start;
      record.limit = grant.limit;
      record.granted_end = grant.range.hi;
      keep_record(file.state(), record);
      return true;
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
    // Who waited for long may have taken the file away, and put into another one what was granted before
    // these.
    return is_current(file);
  });
  return ranges;
}

}  // namespace leaf::segment
