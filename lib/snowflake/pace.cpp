#include "snowflake/pace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout/layout_text.hpp"
#include "leaf/error.hpp"
#include "store/lease_clocks.hpp"
#include "text/advice.hpp"
#include "text/duration_text.hpp"
#include "text/hint.hpp"

namespace leaf::snowflake {

using std::chrono::milliseconds;

namespace {

/// How late sleep_for() may come back: so long before its end a wait goes over to looking at the clock again
/// and again.
constexpr std::chrono::microseconds sleep_is_late_by{150};

/// How much longer a wait for the clock may take than the clock says.
constexpr milliseconds slow_clock{1000};

}  // namespace

void require_small_lead(const Layout& layout, std::int64_t ticks, std::int64_t now,
                        const SnowflakeOptions& options) {
  const milliseconds lead = (ticks - now) * layout.unit();
  if (lead <= std::max(options.max_backward, layout.unit())) return;
  throw Error(
      ErrorCode::refused,
      fmt::format("this host's clock ({}) is {} behind the last ID's ({})", to_rfc3339(layout.time_at(now)),
                  rough_text_of(lead), to_rfc3339(layout.time_at(ticks))),
      store::advice_behind(lead, options.worker.owner, /*in_memory=*/!options.host));
}

void wait_past(const Layout& layout, std::int64_t ticks, Clock& clock,
               std::chrono::steady_clock::time_point latest) {
  const auto patience = latest - clock.steady_now();
  const auto deadline = latest + std::min(layout.unit(), slow_clock);
  const UnixTime begin = layout.time_at(ticks);
  const UnixTime end = begin + layout.unit();
  for (auto now = clock.now(); now >= begin && now < end; now = clock.now()) {
    if (end - now > patience) {
      throw Error(ErrorCode::unavailable,
                  fmt::format("no ID can be made before the next unit of time of layout '{}' begins, at {}",
                              layout.name(), to_rfc3339(end)),
                  advice("allow more time{}; if the host's buffer is used, waiting until then helps too"_hint,
                         Remedy{Remedy::Kind::allow_more_time}));
    }
    const auto left = deadline - clock.steady_now();
    if (left < left.zero()) {
      throw Error(ErrorCode::unavailable, fmt::format("the clock stands still at {}", to_rfc3339(begin)));
    }
    // No longer: what is left of the unit does not pass while the clock stands.
    const auto until_end = std::min<std::chrono::nanoseconds>(end - now - sleep_is_late_by, left);
    clock.sleep_for(std::max(until_end, std::chrono::nanoseconds::zero()));
  }
}

}  // namespace leaf::snowflake
