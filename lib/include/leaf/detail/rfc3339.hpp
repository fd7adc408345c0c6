#pragma once

#include <string>

#include "leaf/export.hpp"
#include "leaf/layout.hpp"

namespace leaf::detail {

/// Not a part of the interface: shared by the library and its command-line program.
/// UTC with milliseconds, such as "2010-11-04T01:42:54.657Z"; a year that RFC 3339 has no room for as ISO
/// 8601 and ECMAScript write it, "+010000-01-01T00:00:00.000Z".
LEAF_EXPORT std::string format_rfc3339(UnixTime time);

/// The same, behind `text`.
LEAF_EXPORT void append_rfc3339(UnixTime time, std::string& text);

}  // namespace leaf::detail
