#include "workers/worker_range.hpp"

#include <fmt/format.h>

#include "leaf/error.hpp"
#include "text/numbers.hpp"

namespace leafctl {

std::optional<leaf::WorkerRange> parse_worker_range(std::string_view name, std::string_view text) {
  if (text == "all") return std::nullopt;
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || dash == 0) {
    throw leaf::Error(
        leaf::ErrorCode::usage,
        fmt::format("'{}' takes the first and the last worker, such as 0-511, or all, not '{}'", name, text));
  }
  const leaf::WorkerRange range{.first = parse_integer(name, text.substr(0, dash), worker_bounds),
                                .last = parse_integer(name, text.substr(dash + 1), worker_bounds)};
  if (range.first > range.last) {
    throw leaf::Error(leaf::ErrorCode::usage,
                      fmt::format("'{}' takes the lower worker first, not '{}'", name, text));
  }
  return range;
}

std::string format_worker_range(const leaf::WorkerRange& range) {
  return fmt::format("{}-{}", range.first, range.last);
}

bool has_all_workers(const leaf::WorkerRange& range, const leaf::Layout& layout) {
  return range.first == 0 && range.last >= layout.max_worker();
}

}  // namespace leafctl
