#pragma once

#include <chrono>
#include <cstdint>

#include "leaf/clock.hpp"
#include "leaf/layout.hpp"
#include "leaf/snowflake.hpp"

namespace leaf::snowflake {

/// Throws Error (refused) if the clock, at the unit of time `now`, is further behind `ticks`, the unit of the
/// last ID, than options.max_backward.
void require_small_lead(const Layout& layout, std::int64_t ticks, std::int64_t now,
                        const SnowflakeOptions& options);

/// Returns once the clock is past the unit of time `ticks`, or was set back. Throws Error (unavailable) if it
/// is not by `latest`, or stands still.
void wait_past(const Layout& layout, std::int64_t ticks, Clock& clock,
               std::chrono::steady_clock::time_point latest);

}  // namespace leaf::snowflake
