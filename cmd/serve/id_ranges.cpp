#include "serve/id_ranges.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace leafctl::serve {

namespace {

constexpr std::size_t most_digits = 19;

/// Adds one to a number of so many digits. False if it would need another digit.
bool increment(char* digits, std::size_t count) noexcept {
  for (char* digit = digits + count; digit != digits;) {
    if (*--digit != '9') {
      ++*digit;
      return true;
    }
    *digit = '0';
  }
  return false;
}

/// What the next ID needs is mostly the text of this one with another last digit.
char* write_range(leaf::Range range, std::string_view before, std::string_view after, char* to) {
  const char* previous = nullptr;
  std::size_t digits = 0;
  for (std::int64_t id = range.lo; id < range.hi; ++id) {
    to = std::copy(before.begin(), before.end(), to);
    if (previous == nullptr) {
      digits = static_cast<std::size_t>(std::to_chars(to, to + most_digits, id).ptr - to);
    } else {
      std::memcpy(to, previous, digits);
      if (!increment(to, digits))
        digits = static_cast<std::size_t>(std::to_chars(to, to + most_digits, id).ptr - to);
    }
    previous = to;
    to = std::copy(after.begin(), after.end(), to + digits);
  }
  return to;
}

}  // namespace

void append_range(IdRanges& ranges, leaf::Range range) {
  if (range.empty()) return;
  if (!ranges.empty() && ranges.back().hi == range.lo) {
    ranges.back().hi = range.hi;
  } else {
    ranges.push_back(range);
  }
}

void append_ids(IdRanges& ranges, std::span<const std::int64_t> ids) {
  for (const std::int64_t id : ids) append_range(ranges, {id, id + 1});
}

std::uint64_t count_of(std::span<const leaf::Range> ranges) noexcept {
  std::uint64_t count = 0;
  for (const leaf::Range range : ranges) count += range.size();
  return count;
}

void append_texts(std::span<const leaf::Range> ranges, std::string_view before, std::string_view after,
                  std::string& out) {
  for (const leaf::Range range : ranges) {
    const std::size_t at = out.size();
    out.resize(at + range.size() * (before.size() + most_digits + after.size()));
    const char* const end = write_range(range, before, after, out.data() + at);
    out.resize(static_cast<std::size_t>(end - out.data()));
  }
}

}  // namespace leafctl::serve
