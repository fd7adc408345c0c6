#pragma once

#include <string>

#include "leaf/export.hpp"

namespace leaf::detail {

/// Not a part of the interface: shared by the library and its command-line program.
/// What `symbol` is in libleaf-NAME.so, which is loaded from beside the library or from its install folder
/// and never unloaded; `what` is what an error calls it. Null if it is not installed or has no such symbol.
/// Throws Error: `unavailable` for want of memory or files, `usage` if it cannot be loaded.
LEAF_EXPORT const void* module_symbol(const std::string& name, const std::string& what, const char* symbol);

}  // namespace leaf::detail
