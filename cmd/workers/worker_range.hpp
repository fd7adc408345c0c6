#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "leaf/layout.hpp"
#include "leaf/worker.hpp"

namespace leafctl {

/// `0-511`, both ends included; or `all`: nothing. Throws leaf::Error (usage) that says what `name`, an
/// option, takes.
std::optional<leaf::WorkerRange> parse_worker_range(std::string_view name, std::string_view text);

/// As parse_worker_range() reads it.
std::string format_worker_range(const leaf::WorkerRange& range);

bool has_all_workers(const leaf::WorkerRange& range, const leaf::Layout& layout);

}  // namespace leafctl
