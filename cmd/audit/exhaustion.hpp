#pragma once

#include <cstdint>
#include <optional>

#include "audit/finding.hpp"
#include "leaf/layout.hpp"

namespace leafctl {

/// When IDs of `layout` no longer fit: in the layout, and in the numbers of JavaScript. `greatest` is the
/// greatest one so far.
Findings layout_exhaustion(const leaf::Layout& layout, std::int64_t greatest, leaf::UnixTime now);

/// When IDs that are counted up no longer fit in the types that they are kept in, where it is known since
/// when they have been counted up from `least` to `greatest`; else how many are left.
Findings dense_exhaustion(std::int64_t least, std::int64_t greatest, std::optional<leaf::UnixTime> since,
                          leaf::UnixTime now);

}  // namespace leafctl
