#pragma once

#include <string>

#include "leaf/layout.hpp"

namespace leafctl {

/// UTC with milliseconds, such as "2010-11-04T01:42:54.657Z". `time` lies in the years 0 to 9999.
std::string format_rfc3339(leaf::UnixTime time);

/// The same, behind `text`.
void append_rfc3339(leaf::UnixTime time, std::string& text);

}  // namespace leafctl
