#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace leafctl {

/// What `--limit ID|none` says, where `lowest` is the lowest ID; nothing stands for none.
std::optional<std::int64_t> parse_limit(const std::string& text, std::int64_t lowest = 0);

}  // namespace leafctl
