#pragma once

#include <algorithm>
#include <cstdint>

#include "leaf/range.hpp"

namespace leaf::test {

/// The most that the guard against another server adds to its steps by chance, in a tag without a limit.
constexpr std::int64_t guard_share(std::int64_t guard) {
  return std::max<std::int64_t>(8 * guard, 1 << 20);
}

/// Whether a guard of `guard` IDs and its share lie between `from`, where the range would begin without, and
/// `range`.
constexpr bool is_behind_guard(Range range, std::int64_t from, std::int64_t guard) {
  return range.lo >= from + guard && range.lo <= from + guard + guard_share(guard);
}

}  // namespace leaf::test
