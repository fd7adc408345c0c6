#include "text/rough_duration.hpp"

#include <fmt/format.h>

#include <iterator>

#include "text/duration_units.hpp"

namespace leafctl {

std::string rough_duration(std::chrono::milliseconds duration) {
  const std::string sign = duration.count() < 0 ? "-" : "";
  const std::int64_t length = duration.count() < 0 ? -duration.count() : duration.count();
  for (std::size_t i = std::size(duration_units); i-- > 1;) {
    const auto [suffix, unit] = duration_units[i];
    if (length < unit) continue;
    const auto [smaller_suffix, smaller] = duration_units[i - 1];
    const std::int64_t rest = length % unit / smaller;
    const bool is_exact_enough = rest == 0 || smaller == 1;
    return is_exact_enough ? fmt::format("{}{}{}", sign, length / unit, suffix)
                           : fmt::format("{}{}{} {}{}", sign, length / unit, suffix, rest, smaller_suffix);
  }
  return fmt::format("{}{}ms", sign, length);
}

std::string rough_distance(leaf::UnixTime time, leaf::UnixTime now) {
  if (time == now) return "now";
  return time > now ? "in " + rough_duration(time - now) : rough_duration(now - time) + " ago";
}

}  // namespace leafctl
