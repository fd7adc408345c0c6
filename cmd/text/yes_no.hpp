#pragma once

#include <string_view>

namespace leafctl {

/// What `text` says of whether: yes, true, on and 1, or no, false, off and 0, in small or capital letters.
/// Throws leaf::Error (usage) that says what `name`, an option, variable or key, takes.
bool parse_yes_no(std::string_view name, std::string_view text);

}  // namespace leafctl
