#include "range/range_source.hpp"

#include <fmt/format.h>

#include "text/duration_text.hpp"

namespace leaf::range {

Range RangeSource::take(std::uint64_t at_most) {
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

std::vector<Range> RangeSource::take_all(std::uint64_t count) {
  std::vector<Range> ranges;
  while (count > 0) {
    const Range range = take(count);
    count -= range.size();
    append(ranges, range);
  }
  return ranges;
}

Error RangeSource::timed_out(std::chrono::milliseconds waited, const std::optional<Error>& failure,
                             const std::string& hint_without_failure) const {
  const std::string text = fmt::format("no {} came within {}", granter().what(), text_of(waited));
  if (!failure) return {ErrorCode::unavailable, text, hint_without_failure};
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
