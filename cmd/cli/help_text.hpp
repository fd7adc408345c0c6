#pragma once

#include <string>

#include "cli/cli11.hpp"

namespace leafctl {

/// The words that call `app`, such as "leafctl tags list".
std::string full_name(const CLI::App& app);

/// The help of one command, in lines that fit a terminal of `line_width` columns: description, usage,
/// arguments, options, those of all commands, subcommands, and the footer (examples).
std::string help_text(const CLI::App& app, std::size_t line_width);

/// Only the usage and the list of commands, for somebody who named none.
std::string short_help_text(const CLI::App& app, std::size_t line_width);

}  // namespace leafctl
