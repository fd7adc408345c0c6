#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "leaf/error.hpp"

namespace leafctl {

/// What CLI11 found wrong in `arguments`, in leafctl's own words. `root` has been parsed as far as it went,
/// and `selected` is the command that was recognized.
leaf::Error usage_error(const CLI::App& root, const CLI::App& selected,
                        const std::vector<std::string>& arguments, const CLI::ParseError& error);

/// Says that `group` has no command `word`, and which one may have been meant.
leaf::Error unknown_command(const CLI::App& group, const std::string& word);

}  // namespace leafctl
