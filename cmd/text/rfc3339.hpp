#pragma once

#include <string>

#include "leaf/layout.hpp"

namespace leafctl {

/// UTC with milliseconds, such as "2010-11-04T01:42:54.657Z"; a year that RFC 3339 has no room for as ISO
/// 8601 and ECMAScript write it, "+010000-01-01T00:00:00.000Z".
std::string format_rfc3339(leaf::UnixTime time);

/// The same, behind `text`.
void append_rfc3339(leaf::UnixTime time, std::string& text);

}  // namespace leafctl
