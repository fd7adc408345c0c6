#include "cli/command_line.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "cli/declaration.hpp"
#include "cli/help_text.hpp"
#include "leaf/error.hpp"
#include "leaf/version.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

constexpr const char* examples =
    "Examples:\n"
    "  leafctl init-db               create the store, once\n"
    "  leafctl add-tag order         add a tag, once\n"
    "  leafctl next order            print an ID\n\n"
    "Exit status: 0 success; 1 failure; 2 usage or configuration; 3 store\n"
    "unreachable; 4 no such tag or worker; 5 refused for safety; 6 exhausted.";

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

CLI::App* subcommand(CLI::App& group, const std::string& word) {
  const auto found = group.get_subcommands([&](CLI::App* command) { return command->get_name() == word; });
  return found.empty() ? nullptr : found.front();
}

/// Commands are no arguments, which CLI11 takes what follows `--` for. Throws leaf::Error (usage).
void require_commands_before_dashes(CLI::App& root, const std::vector<std::string>& arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  if (dashes == arguments.end()) return;
  CLI::App* app = &root;
  bool has_unknown = false;  // a mistyped command, which is the greater fault, or an option's value
  for (auto argument = arguments.begin(); argument != dashes; ++argument) {
    CLI::App* const command = subcommand(*app, *argument);
    if (command != nullptr) app = command;
    has_unknown = has_unknown || (command == nullptr && !argument->starts_with('-'));
  }
  if (app->get_subcommands([](CLI::App*) { return true; }).empty()) return;
  if (has_unknown && (dashes + 1 == arguments.end() || subcommand(*app, dashes[1]) == nullptr)) return;
  throw leaf::Error(leaf::ErrorCode::usage, "'--' comes before the command",
                    "put it after the command, before arguments that begin with '-'"_hint);
}

/// One rule for all options: the last one counts.
void let_the_last_count(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() <= 1) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

/// A flag takes no value, unless it is a setting's.
void refuse_values_of_flags(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) option->disable_flag_override();
  }
}

}  // namespace

CommandLine::CommandLine(std::span<const CommandEntry> commands, std::size_t line_width,
                         std::size_t short_line_width)
    : commands_(commands),
      app_(
          std::make_unique<CLI::App>("Hands out unique 64-bit IDs, without a server of its own.", "leafctl")),
      line_width_(line_width),
      short_line_width_(short_line_width) {
  app_->fallthrough();
  app_->require_subcommand(0, 1);
  app_->set_help_flag();
}

CommandLine::~CommandLine() = default;

CLI::App& CommandLine::root() {
  declare();
  return *app_;
}

void CommandLine::declare(std::string_view group, Declaration::Extent extent) {
  if (!nodes_.empty()) return;
  extent_ = extent;
  if (extent == Declaration::Extent::all) declare_global_options();
  const auto is_of_group = [group](const CommandEntry& entry) {
    const std::string_view name = entry.name;
    return name.substr(0, name.find(' ')) == group;
  };
  const bool is_known = std::ranges::any_of(commands_, is_of_group);
  nodes_.reserve(commands_.size());
  for (const CommandEntry& entry : commands_) {
    if (!is_known || is_of_group(entry)) add_command(entry);
  }
}

void CommandLine::declare_global_options() {
  // First, because each command takes it over.
  app_->set_help_flag("-h,--help", "print help and exit");
  Declaration declaration(*app_);
  for (std::size_t i = 0; i < all_settings().size(); ++i) {
    if (all_settings()[i].is_global) declaration.add_setting(all_settings()[i].key, options_.values[i]);
  }
  declaration.add_text_option("--config", "FILE", options_.config_file,
                              "settings in YAML (default: leafctl/leafctl.yaml in ~/.config, then in /etc)");
  declaration.add_flag("-q,--quiet", options_.quiet, "print only errors, no messages or warnings");
  declaration.add_flag("-v,--verbose", options_.verbose, "print more detail");
  declaration.add_examples(examples);
  app_->set_version_flag("--version", fmt::format("leafctl {}\n", leaf::version()),
                         "print the version and exit");
  refuse_values_of_flags(*app_);
  let_the_last_count(*app_);
}

void CommandLine::add_command(const CommandEntry& entry) {
  const std::string_view name = entry.name;
  const std::size_t blank = name.rfind(' ');
  CLI::App* parent = app_.get();
  if (blank != std::string_view::npos) parent = app_->get_subcommand(std::string(name.substr(0, blank)));
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
  Declaration declaration(*node.app, extent_);
  node.command->declare(declaration);
  refuse_values_of_flags(*node.app);
  for (const std::string_view key : node.command->setting_keys()) {
    declaration.add_setting(key, options_.values[find_setting(key).value()]);
  }
  let_the_last_count(*node.app);
}

CommandLine::Node* CommandLine::node_of(const CLI::App* app) {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [app](const Node& node) { return node.app == app; });
  return found == nodes_.end() ? nullptr : &*found;
}

CLI::App& CommandLine::selected() {
  CLI::App* app = app_.get();
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

leaf::Error CommandLine::rejected(const std::vector<std::string>& arguments, Rejection::Reason reason,
                                  const std::exception& error) {
  // An option of a command may be named before it.
  if (&selected() != app_.get()) {
    for (CLI::App* command : selected().get_subcommands([](CLI::App*) { return true; })) {
      if (Node* const node = node_of(command)) set_up(*node);
    }
  }
  return usage_error(selected(), arguments, {reason, error.what(), app_->remaining(true)});
}

Request CommandLine::parse(std::vector<std::string> arguments) {
  arguments = split_empty_values(arguments);
  // What a usual command line does not name is left out: most of a short call's own work was to declare it.
  const bool names_options =
      std::ranges::any_of(arguments, [](const std::string& text) { return text.starts_with('-'); });
  declare(arguments.empty() ? "" : arguments.front(),
          names_options ? Declaration::Extent::all : Declaration::Extent::arguments);
  require_commands_before_dashes(*app_, arguments);
  try {
    // CLI11 takes the last argument first.
    app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp& help) {
    const std::vector<std::string> left_over = app_->remaining(true);
    const bool is_mistyped = !left_over.empty() && !left_over.front().starts_with('-');
    if (is_mistyped && (node_of(&selected()) == nullptr || node_of(&selected())->make == nullptr))
      throw rejected(arguments, Rejection::Reason::other, help);
    return {.text = help_text(selected(), line_width_)};
  } catch (const CLI::CallForVersion& version) {
    return {.text = version.what()};
  } catch (const CLI::ArgumentMismatch& error) {
    throw rejected(arguments, Rejection::Reason::missing_value, error);
  } catch (const CLI::RequiredError& error) {
    throw rejected(arguments, Rejection::Reason::missing_argument, error);
  } catch (const CLI::ParseError& error) {
    throw rejected(arguments, Rejection::Reason::other, error);
  }
  Node* node = node_of(&selected());
  if (node == nullptr || !node->command)
    return {.text = short_help_text(selected(), short_line_width_), .incomplete = true};
  return {.command = node->command.get()};
}

CLI::App* CommandLine::find_command(CLI::App& group, const std::string& word) {
  CLI::App* const command = subcommand(group, word);
  if (command == nullptr) return nullptr;
  if (Node* node = node_of(command)) set_up(*node);
  return command;
}

std::string CommandLine::help(const std::vector<std::string>& words) {
  declare();
  CLI::App* app = app_.get();
  for (const std::string& word : words) {
    CLI::App* const command = find_command(*app, word);
    if (command == nullptr) throw unknown_command(*app, word);
    app = command;
  }
  return help_text(*app, line_width_);
}

}  // namespace leafctl
