#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace leafctl {

/// Breaks `text` at blanks, so that lines which begin at column `indent` stay within 80 columns.
std::vector<std::string> wrap(const std::string& text, std::size_t indent);

}  // namespace leafctl
