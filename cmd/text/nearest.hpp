#pragma once

#include <span>
#include <string>
#include <string_view>

namespace leafctl {

/// The candidate that `word` was most likely meant to be, or an empty text if none is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace leafctl
