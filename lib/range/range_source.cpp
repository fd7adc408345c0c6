#include "range/range_source.hpp"

#include <fmt/format.h>

#include <utility>

#include "leaf/detail/known_store.hpp"
#include "text/duration_text.hpp"

namespace leaf::range {

Range RangeSource::take(std::uint64_t at_most) {
  CallDeadline deadline;
  return take_piece(at_most, deadline).range;
}

RangeSource::Piece RangeSource::take_piece(std::uint64_t at_most, CallDeadline& deadline) {
  DoubleBuffer::Taken taken;
  const DoubleBuffer* taken_from = nullptr;
  const auto is_taken = [&] {
    DoubleBuffer& here = buffer();
    taken = here.take(at_most);
    taken_from = &here;
    return !taken.range.empty();
  };
  if (!is_taken()) await(is_taken, deadline);
  if (taken.fetch_next) request_fetch();
  return {.range = taken.range, .buffer = taken_from};
}

std::vector<Range> RangeSource::take_all(std::uint64_t count) {
  if (count == 0) return {};
  CallDeadline deadline;
  fetch_before_taking(count, deadline);
  return take_rest(take_piece(count, deadline), count, deadline);
}

Granted RangeSource::grant(Store& store, const Filled& filled) const {
  try {
    return granter().grant(store, filled);
  } catch (const Error& error) {
    if (filled.store.deployment.empty()) throw;
    throw detail::with_known_store(error);
  }
}

bool RangeSource::fetch_before_taking(std::uint64_t count, CallDeadline& deadline) {
  for (;;) {
    DoubleBuffer& own = buffer();
    if (left_in(own) >= count) return true;
    const auto view = own.view();
    if (view.has_next) {
      if (!view.rest.empty()) return false;
      own.advance(view);
    } else {
      await([&] { return left_in(buffer()) >= count || !wants_fetch(); }, deadline);
    }
  }
}

std::vector<Range> RangeSource::take_rest(const Piece& first, std::uint64_t count, CallDeadline& deadline) {
  std::vector<Range> ranges{first.range};
  const DoubleBuffer* taken_from = first.buffer;
  for (std::uint64_t left = count - first.range.size(); left > 0;) {
    const Piece piece = take_piece(left, deadline);
    if (std::exchange(taken_from, piece.buffer) != piece.buffer) {
      // IDs of two stores would be no answer: the former ones are lost.
      ranges.clear();
      left = count;
    }
    left -= piece.range.size();
    append(ranges, piece.range);
  }
  return ranges;
}

Error RangeSource::timed_out(std::chrono::milliseconds waited, const Error* failure,
                             const std::string& hint_without_failure) const {
  const std::string text = fmt::format("could not fetch a {} within {}", granter().what(), text_of(waited));
  if (failure == nullptr) return {ErrorCode::unavailable, text, hint_without_failure};
  return {ErrorCode::unavailable, fmt::format("{}: {}", text, failure->what()), failure->advice(),
          failure->sqlstate()};
}

std::uint64_t left_in(const DoubleBuffer& buffer) noexcept {
  const auto view = buffer.view();
  return view.rest.size() + view.next.size();
}

void append(std::vector<Range>& ranges, Range range) {
  if (!ranges.empty() && ranges.back().hi == range.lo) {
    ranges.back().hi = range.hi;
  } else {
    ranges.push_back(range);
  }
}

}  // namespace leaf::range
