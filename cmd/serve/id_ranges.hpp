#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leaf/range.hpp"

namespace leafctl::serve {

/// IDs in the order in which they were drawn, as runs of consecutive ones.
using IdRanges = std::vector<leaf::Range>;

void append_range(IdRanges& ranges, leaf::Range range);
void append_ids(IdRanges& ranges, std::span<const std::int64_t> ids);
std::uint64_t count_of(std::span<const leaf::Range> ranges) noexcept;

/// Each ID in decimal, which is none below 0, behind `out`: between `before` and `after`.
void append_texts(std::span<const leaf::Range> ranges, std::string_view before, std::string_view after,
                  std::string& out);

}  // namespace leafctl::serve
