#pragma once

#include <chrono>
#include <string>

#include "leaf/layout.hpp"

namespace leaf {

/// UTC with milliseconds, such as `2022-06-28T16:07:40.105Z`.
std::string to_rfc3339(UnixTime time);

/// The unit as the text of a layout has it, such as `10ms`, `1s` and `1h`.
std::string unit_text(std::chrono::milliseconds unit);

}  // namespace leaf
