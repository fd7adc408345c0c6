#pragma once

#include <string>
#include <string_view>

namespace leaf::store {

/// Not in `text`, to be put at the end of a word that then is not in it either.
std::string unused_ending(std::string_view text);

/// `form` with dollar quotes that `put_in`, names that come to stand within them, does not end.
std::string apart_from(std::string_view form, std::string_view put_in);

}  // namespace leaf::store
