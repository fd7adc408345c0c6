#include "command_tree.hpp"

namespace leafctl {

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      // Each level has a help flag of its own.
      const bool repeated = level != &app && option == level->get_help_ptr();
      if (option->nonpositional() && !repeated) options.push_back(option);
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

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

bool takes_many(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

}  // namespace leafctl
