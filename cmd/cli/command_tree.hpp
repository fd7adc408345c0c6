#pragma once

#include <string>
#include <vector>

#include "cli/cli11.hpp"

namespace leafctl {

// What others than the parser see of CLI11's objects.

std::string name_of(const CLI::App& app);
std::string description_of(const CLI::App& app);
/// Its examples; empty if there are none.
std::string footer_of(const CLI::App& app);
/// The group it belongs to; null for the program.
const CLI::App* parent_of(const CLI::App& app);

/// The commands of a group in their order, but for hidden ones.
std::vector<const CLI::App*> subcommands_of(const CLI::App& app);

/// The options of `app` itself.
std::vector<const CLI::Option*> own_options_of(const CLI::App& app);

/// The options that may follow the words of `app`: its own, then those of the commands above it.
std::vector<const CLI::Option*> options_of(const CLI::App& app);

/// The option among them that `name` stands for, such as "--store" or "-o"; or null.
const CLI::Option* find_option(const CLI::App& app, const std::string& name);

/// The arguments of `app` in their order.
std::vector<const CLI::Option*> arguments_of(const CLI::App& app);

std::string description_of(const CLI::Option& option);
/// What stands for its value in help; empty for a flag.
std::string value_name_of(const CLI::Option& option);
/// Without their hyphens, as those of short_names_of().
std::vector<std::string> long_names_of(const CLI::Option& option);
std::vector<std::string> short_names_of(const CLI::Option& option);
/// What an argument is called.
std::string argument_name_of(const CLI::Option& argument);
bool is_required(const CLI::Option& option);
/// True if the command line that was parsed has it.
bool is_given(const CLI::Option& option);
/// True for -h and --help of any command.
bool is_help(const CLI::App& app, const CLI::Option& option);

/// False for a flag.
bool takes_value(const CLI::Option& option);

/// True for a flag that takes none behind '=' either.
bool refuses_value(const CLI::Option& option);

/// True if it may be given again and again.
bool takes_many(const CLI::Option& option);

}  // namespace leafctl
