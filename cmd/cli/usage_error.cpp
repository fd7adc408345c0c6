#include "cli/usage_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/command_tree.hpp"
#include "cli/help_text.hpp"
#include "leaf/detail/nearest.hpp"
#include "leaf/store.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

using leaf::Error;
using leaf::ErrorCode;

std::string see_help(const CLI::App& app) {
  return fmt::format("see '{} --help'"_hint, full_name(app));
}

std::string without_value(const std::string& argument) {
  return argument.substr(0, argument.find('='));
}

/// A store's URL in the place of something else may hold a password as well.
std::string without_password(const std::string& argument) {
  return argument.find("://") == std::string::npos ? argument : leaf::redact_url(argument);
}

const CLI::App* first_command_with(const CLI::App& group, const std::string& option) {
  const auto commands = subcommands_of(group);
  const auto found = std::ranges::find_if(
      commands, [&](const CLI::App* command) { return find_option(*command, option) != nullptr; });
  return found == commands.end() ? nullptr : *found;
}

Error unknown_option(const CLI::App& app, const std::string& argument) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(app)) {
    for (const std::string& name : long_names_of(*option)) names.push_back("--" + name);
  }
  const std::string name = argument.starts_with("--") ? without_value(argument) : argument.substr(0, 2);
  if (std::ranges::find(names, name) != names.end()) {
    return {ErrorCode::usage, fmt::format("option '{}' comes before its command", name),
            fmt::format("put it after '{}'"_hint, full_name(app))};
  }
  if (const CLI::App* command = first_command_with(app, name)) {
    return {ErrorCode::usage, fmt::format("option '{}' needs a command of '{}'", name, full_name(app)),
            fmt::format("put it after a command, such as '{}'"_hint, full_name(*command))};
  }
  if (name == "--step" && name_of(app) == "next") {
    return {ErrorCode::usage, fmt::format("unknown option '{}'", name),
            "the step belongs to the tag: set it with 'leafctl tags update TAG --step N'"_hint};
  }
  const std::string near =
      name.starts_with("--") && name.size() > 3 ? leaf::detail::nearest(name, names) : std::string();
  return {ErrorCode::usage, fmt::format("unknown option '{}'", name),
          near.empty() ? see_help(app) : fmt::format("did you mean '{}'?"_hint, near)};
}

Error unexpected_argument(const CLI::App& app, const std::string& argument) {
  if (argument.size() > 1 && argument[0] == '-' &&
      std::isdigit(static_cast<unsigned char>(argument[1])) == 0) {
    return unknown_option(app, argument);
  }
  if (!subcommands_of(app).empty()) return unknown_command(app, argument);
  return {ErrorCode::usage, fmt::format("unexpected argument '{}'", without_password(argument)),
          see_help(app)};
}

/// CLI11 reports an option without value only when nothing is left to take for it, so it comes last.
Error missing_value(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("--") || argument.find('=') == std::string::npos) continue;
    const CLI::Option* option = find_option(app, without_value(argument));
    if (option != nullptr && refuses_value(*option)) {
      return {ErrorCode::usage, fmt::format("option '{}' takes no value", without_value(argument)),
              see_help(app)};
    }
  }
  const std::string& last = arguments.back();
  const std::string name = last.starts_with("--") ? last : fmt::format("-{}", last.back());
  return {ErrorCode::usage, fmt::format("option '{}' needs a value", name), see_help(app)};
}

Error missing_argument(const CLI::App& app) {
  for (const CLI::Option* argument : arguments_of(app)) {
    if (!is_required(*argument) || is_given(*argument)) continue;
    return {ErrorCode::usage, fmt::format("argument '{}' is missing", argument_name_of(*argument)),
            see_help(app)};
  }
  for (const CLI::Option* option : own_options_of(app)) {
    if (!is_required(*option) || is_given(*option)) continue;
    return {ErrorCode::usage, fmt::format("option '--{}' is missing", long_names_of(*option).front()),
            see_help(app)};
  }
  return {ErrorCode::usage, "an argument is missing", see_help(app)};
}

}  // namespace

Error usage_error(const CLI::App& selected, const std::vector<std::string>& arguments,
                  const Rejection& rejection) {
  // A mistyped option explains a missing one better than the other way round.
  if (!rejection.left_over.empty()) return unexpected_argument(selected, rejection.left_over.front());
  if (rejection.reason == Rejection::Reason::missing_value) return missing_value(selected, arguments);
  if (rejection.reason == Rejection::Reason::missing_argument) return missing_argument(selected);
  std::string text = rejection.text;
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return {ErrorCode::usage, text, see_help(selected)};
}

namespace {

/// A command that people look for under another word.
struct Synonym {
  std::string_view group;  ///< "" for the program
  std::string_view word;
  const char* command;  ///< of several, with the quotes between
};
constexpr Synonym synonyms[] = {
    {"", "add", "add-tag"},
    {"", "create", "add-tag"},
    {"", "delete", "tags remove"},
    {"", "remove", "tags remove"},
    {"", "rm", "tags remove"},
    {"", "list", "tags list"},
    {"", "ls", "tags list"},
    {"", "show", "tags show"},
    {"", "import", "tags import"},
    {"", "export", "tags export"},
    {"", "update", "tags update"},
    {"", "set", "tags update"},
    {"", "get", "next"},
    {"", "id", "next"},
    {"", "generate", "next"},
    {"", "snowflake", "next --snowflake"},
    {"", "parse", "decode"},
    {"", "config", "show-config"},
    {"", "migrate", "init-db"},
    {"", "upgrade", "init-db"},
    {"", "version", "--version"},
    {"tags", "add", "add-tag"},
    {"tags", "create", "add-tag"},
    {"tags", "new", "add-tag"},
    {"tags", "rm", "tags remove"},
    {"tags", "delete", "tags remove"},
    {"tags", "ls", "tags list"},
    {"tags", "get", "tags show"},
    {"tags", "set", "tags update"},
    {"tags", "edit", "tags update"},
    {"tags", "change", "tags update"},
    {"tags", "raise", "tags update"},
    {"tags", "dump", "tags export"},
    {"tags", "load", "tags import"},
    {"tags", "next", "next"},
    {"workers", "ls", "workers list"},
    {"workers", "rm", "workers recycle"},
    {"workers", "remove", "workers recycle"},
    {"workers", "delete", "workers recycle"},
    {"workers", "free", "workers release' or 'workers recycle"},
    {"workers", "lease", "workers acquire"},
    {"workers", "take", "workers acquire"},
    {"workers", "add", "workers acquire"},
};

/// What `word` was most likely meant to be: by its meaning, else by its letters. Empty if neither tells.
std::string intended_command(const CLI::App& group, const std::string& word) {
  const std::string prefix = parent_of(group) == nullptr ? "" : name_of(group);
  const auto meaning_of = [&prefix](const std::string& text) -> std::string {
    for (const Synonym& synonym : synonyms) {
      if (synonym.group == prefix && synonym.word == text) return synonym.command;
    }
    return {};
  };
  if (std::string meant = meaning_of(word); !meant.empty()) return meant;
  std::vector<std::string> names;
  for (const CLI::App* command : subcommands_of(group)) names.push_back(name_of(*command));
  for (const Synonym& synonym : synonyms) {
    if (synonym.group == prefix) names.emplace_back(synonym.word);
  }
  const std::string near = leaf::detail::nearest(word, names);
  if (std::string meant = meaning_of(near); !meant.empty()) return meant;
  return near.empty() || prefix.empty() ? near : prefix + " " + near;
}

}  // namespace

Error unknown_command(const CLI::App& group, const std::string& word) {
  const std::string meant = intended_command(group, word);
  const std::string prefix = parent_of(group) == nullptr ? "" : name_of(group) + " ";
  return {ErrorCode::usage, fmt::format("unknown command '{}{}'", prefix, without_password(word)),
          meant.empty() ? see_help(group) : fmt::format("did you mean '{}'?"_hint, meant)};
}

}  // namespace leafctl
