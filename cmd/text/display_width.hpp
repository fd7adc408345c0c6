#pragma once

#include <cstddef>
#include <string_view>

namespace leafctl {

/// How many columns of a terminal `text`, escaped for one, takes: two for the wide letters of East Asia and
/// for emoji, none for accents that combine with the letter before. Bytes that are no UTF-8 take one each.
std::size_t display_width(std::string_view text);

/// The size in bytes of the longest beginning of `text` that takes no more than `width` columns; no letter is
/// cut. At least one letter, where there is one.
std::size_t size_within(std::string_view text, std::size_t width);

}  // namespace leafctl
