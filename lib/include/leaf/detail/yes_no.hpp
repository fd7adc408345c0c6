#pragma once

#include <string_view>

#include "leaf/export.hpp"

namespace leaf::detail {

/// Not a part of the interface: shared by the library and its command-line program.
/// What `text` says of whether: yes, true, on and 1, or no, false, off and 0, in small or capital letters.
/// Throws Error (usage) that says what `name`, an option, variable or key, takes.
LEAF_EXPORT bool parse_yes_no(std::string_view name, std::string_view text);

}  // namespace leaf::detail
