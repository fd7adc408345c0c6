#pragma once

#include <string>
#include <string_view>

namespace leafctl {

/// `text` on one line that does nothing to a terminal: control characters (C0, DEL, C1), those that turn the
/// direction of a text, and bytes that are no UTF-8 are shown as `\n`, `\t`, `\x1b`.
std::string escape_for_terminal(std::string_view text);

/// `text` as one field of a tab-separated line: tab, newline, carriage return and backslash are written `\t`,
/// `\n`,
/// `\r`, `\\`.
std::string escape_for_tsv(std::string_view text);

/// JSON with DEL, C1 control characters and those that turn the direction of a text, which a serializer
/// leaves as they are, written `\u009b`.
std::string escape_controls_in_json(std::string_view json);

/// How many code points there are in `text`, which is UTF-8.
std::size_t count_characters(std::string_view text);

}  // namespace leafctl
