#pragma once

#include <cstdint>
#include <span>

namespace leafctl {

/// Sorts `ids`, none of which is negative. `scratch` is as long, and holds nothing afterwards.
void sort_ids(std::span<std::int64_t> ids, std::span<std::int64_t> scratch);

}  // namespace leafctl
