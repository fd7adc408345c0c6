#pragma once

#include <chrono>
#include <string>

namespace leafctl {

/// UTC with milliseconds, such as "2010-11-04T01:42:54.657Z".
std::string format_rfc3339(std::chrono::system_clock::time_point time);

}  // namespace leafctl
