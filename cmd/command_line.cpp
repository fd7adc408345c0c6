#include "command_line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "help_text.hpp"
#include "leaf/version.hpp"
#include "options.hpp"
#include "usage_error.hpp"

namespace leafctl {

namespace {

constexpr const char* examples =
    "Examples:\n"
    "  leafctl init-db               create the store, once\n"
    "  leafctl add-tag order         add a tag, once\n"
    "  leafctl next order            print an ID";

/// CLI11 takes the next argument for the value of `--name=`; two arguments say what was meant.
std::vector<std::string> split_empty_values(const std::vector<std::string>& arguments) {
  std::vector<std::string> result;
  bool options_ended = false;
  for (const std::string& argument : arguments) {
    options_ended = options_ended || argument == "--";
    const std::size_t equals = argument.find('=');
    if (!options_ended && argument.starts_with("--") && equals + 1 == argument.size()) {
      result.push_back(argument.substr(0, equals));
      result.emplace_back();
    } else {
      result.push_back(argument);
    }
  }
  return result;
}

/// One rule for all options: the last one counts, and a flag takes no value.
void settle_options(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) option->disable_flag_override();
    if (option->get_items_expected_max() == 1) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

}  // namespace

CommandLine::CommandLine() : app_("Hands out unique 64-bit IDs, without a server of its own.", "leafctl") {
  app_.set_help_flag("-h,--help", "print help and exit");
  app_.fallthrough();
  app_.require_subcommand(0, 1);
  app_.footer(examples);
  add_global_options();
}

void CommandLine::declare_commands(std::string_view group) {
  if (!nodes_.empty()) return;
  const auto is_of_group = [group](const CommandEntry& entry) {
    const std::string_view name = entry.name;
    return name.substr(0, name.find(' ')) == group;
  };
  const bool is_known = std::ranges::any_of(commands(), is_of_group);
  nodes_.reserve(commands().size());
  for (const CommandEntry& entry : commands()) {
    if (!is_known || is_of_group(entry)) add_command(entry);
  }
}

void CommandLine::add_global_options() {
  for (const Setting& setting : all_settings()) {
    if (setting.is_global) add_setting(app_, setting.key);
  }
  add_text_option(app_, "--config", "FILE", options_.config_file,
                  "settings in YAML (default: leafctl/leafctl.yaml in ~/.config, then in /etc)");
  app_.add_flag("-q,--quiet", options_.quiet, "print errors only, no messages and warnings");
  app_.add_flag("-v,--verbose", options_.verbose, "say more about what is done");
  app_.set_version_flag("--version", fmt::format("leafctl {}\n", leaf::version()),
                        "print the version and exit");
  settle_options(app_);
}

void CommandLine::add_setting(CLI::App& app, std::string_view key) {
  const std::size_t index = find_setting(key).value();
  const Setting& setting = all_settings()[index];
  if (setting.flag_stands_for == nullptr) {
    add_text_option(app, setting.flags, setting.value_name, options_.values[index], setting.help);
    return;
  }
  app.add_flag_callback(
      setting.flags, [this, index, &setting] { options_.values[index] = setting.flag_stands_for; },
      setting.help);
}

void CommandLine::add_command(const CommandEntry& entry) {
  const std::string_view name = entry.name;
  const std::size_t blank = name.rfind(' ');
  CLI::App* parent = &app_;
  if (blank != std::string_view::npos) parent = app_.get_subcommand(std::string(name.substr(0, blank)));
  CLI::App* app = parent->add_subcommand(std::string(name.substr(blank + 1)), entry.summary);
  app->require_subcommand(0, 1);
  app->footer("");
  if (entry.hidden) app->group("");
  Node& node = nodes_.emplace_back(Node{app, entry.make, nullptr});
  if (entry.make != nullptr) app->preparse_callback([this, &node](std::size_t) { set_up(node); });
}

void CommandLine::set_up(Node& node) {
  if (node.make == nullptr || node.command) return;
  node.command = node.make();
  node.command->setup(*node.app);
  for (const std::string_view key : node.command->setting_keys()) add_setting(*node.app, key);
  settle_options(*node.app);
}

CommandLine::Node* CommandLine::node_of(const CLI::App* app) {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [app](const Node& node) { return node.app == app; });
  return found == nodes_.end() ? nullptr : &*found;
}

CLI::App& CommandLine::selected() {
  CLI::App* app = &app_;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

Request CommandLine::parse(std::vector<std::string> arguments) {
  arguments = split_empty_values(arguments);
  // What a usual command line does not name is left out: half of a short call's own work was to declare it.
  declare_commands(arguments.empty() ? "" : arguments.front());
  try {
    // CLI11 takes the last argument first.
    app_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return {.text = help_text(selected())};
  } catch (const CLI::CallForVersion& version) {
    return {.text = version.what()};
  } catch (const CLI::ParseError& error) {
    throw usage_error(app_, selected(), arguments, error);
  }
  Node* node = node_of(&selected());
  if (node == nullptr || !node->command) return {.text = short_help_text(selected()), .incomplete = true};
  return {.command = node->command.get()};
}

CLI::App* CommandLine::find_command(CLI::App& group, const std::string& word) {
  const auto found = group.get_subcommands([&](CLI::App* command) { return command->get_name() == word; });
  if (found.empty()) return nullptr;
  if (Node* node = node_of(found.front())) set_up(*node);
  return found.front();
}

std::string CommandLine::help(const std::vector<std::string>& words) {
  declare_commands();
  CLI::App* app = &app_;
  for (const std::string& word : words) {
    CLI::App* const command = find_command(*app, word);
    if (command == nullptr) throw unknown_command(*app, word);
    app = command;
  }
  return help_text(*app);
}

}  // namespace leafctl
