#include "cli/command_tree.hpp"

#include <CLI/CLI.hpp>

namespace leafctl {

std::string name_of(const CLI::App& app) {
  return app.get_name();
}

std::string description_of(const CLI::App& app) {
  return app.get_description();
}

std::string footer_of(const CLI::App& app) {
  return app.get_footer();
}

const CLI::App* parent_of(const CLI::App& app) {
  return app.get_parent();
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<const CLI::Option*> own_options_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : own_options_of(*level)) {
      // Each level has a help flag of its own.
      if (level == &app || !is_help(*level, *option)) options.push_back(option);
    }
  }
  return options;
}

const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  if (const CLI::Option* option = app.get_option_no_throw(name)) return option;
  return app.get_parent() == nullptr ? nullptr : find_option(*app.get_parent(), name);
}

std::vector<const CLI::Option*> arguments_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::string description_of(const CLI::Option& option) {
  return option.get_description();
}

std::string value_name_of(const CLI::Option& option) {
  return option.get_type_name();
}

std::vector<std::string> long_names_of(const CLI::Option& option) {
  return option.get_lnames();
}

std::vector<std::string> short_names_of(const CLI::Option& option) {
  return option.get_snames();
}

std::string argument_name_of(const CLI::Option& argument) {
  return argument.get_name(true);
}

bool is_required(const CLI::Option& option) {
  return option.get_required();
}

bool is_given(const CLI::Option& option) {
  return option.count() > 0;
}

bool is_help(const CLI::App& app, const CLI::Option& option) {
  return &option == app.get_help_ptr();
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

bool refuses_value(const CLI::Option& option) {
  return !takes_value(option) && option.get_disable_flag_override();
}

bool takes_many(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

}  // namespace leafctl
