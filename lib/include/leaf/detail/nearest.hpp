#pragma once

#include <span>
#include <string>
#include <string_view>

#include "leaf/export.hpp"

namespace leaf::detail {

/// Not a part of the interface: shared by the library and its command-line program.
/// The candidate that `word` was most likely meant to be, or an empty text if none is near.
LEAF_EXPORT std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace leaf::detail
