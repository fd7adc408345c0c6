#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace leafctl {

/// The commands of a group in their order, but for hidden ones.
std::vector<const CLI::App*> subcommands_of(const CLI::App& app);

/// The options that may follow the words of `app`: its own, then those of the commands above it.
std::vector<const CLI::Option*> options_of(const CLI::App& app);

/// The option among them that `name` stands for, such as "--store" or "-o"; or null.
const CLI::Option* find_option(const CLI::App& app, const std::string& name);

/// The arguments of `app` in their order.
std::vector<const CLI::Option*> arguments_of(const CLI::App& app);

/// False for a flag.
bool takes_value(const CLI::Option& option);

/// True if it may be given again and again.
bool takes_many(const CLI::Option& option);

}  // namespace leafctl
