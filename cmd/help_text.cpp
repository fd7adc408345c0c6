#include "help_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "command_tree.hpp"
#include "line_wrap.hpp"

namespace leafctl {

namespace {

constexpr std::size_t widest_label = 24;

/// A label and what it means, as one entry of a list.
struct Entry {
  std::string label;
  std::string text;
};

std::string section(const std::string& title, const std::vector<Entry>& entries) {
  if (entries.empty()) return {};
  std::size_t column = 0;
  for (const Entry& entry : entries) column = std::max(column, std::min(entry.label.size(), widest_label));
  column += 4;
  std::string result = fmt::format("\n{}:\n", title);
  for (const Entry& entry : entries) {
    std::string line = "  " + entry.label;
    if (entry.label.size() > widest_label) {
      result += line + "\n";
      line.clear();
    }
    for (const std::string& text : wrap(entry.text, column)) {
      line.append(column - line.size(), ' ');
      result += line + text + "\n";
      line.clear();
    }
  }
  return result;
}

std::string option_label(const CLI::Option& option) {
  std::string label = option.get_snames().empty() ? "    " : "-" + option.get_snames().front();
  if (!option.get_lnames().empty()) {
    label += (option.get_snames().empty() ? "" : ", ") + ("--" + option.get_lnames().front());
  }
  if (takes_value(option) && !option.get_type_name().empty()) label += " " + option.get_type_name();
  return label;
}

std::string argument_label(const CLI::Option& option) {
  const std::string name = option.get_name(true) + (takes_many(option) ? "..." : "");
  return option.get_required() ? name : "[" + name + "]";
}

std::vector<Entry> option_entries(const CLI::App& app) {
  std::vector<Entry> entries;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional() || option == app.get_help_ptr()) continue;
    entries.push_back({option_label(*option), option->get_description()});
  }
  return entries;
}

std::vector<Entry> argument_entries(const CLI::App& app) {
  std::vector<Entry> entries;
  for (const CLI::Option* argument : arguments_of(app)) {
    entries.push_back({argument_label(*argument), argument->get_description()});
  }
  return entries;
}

std::vector<Entry> command_entries(const CLI::App& app) {
  std::vector<Entry> entries;
  for (const CLI::App* command : subcommands_of(app)) {
    entries.push_back({command->get_name(), command->get_description()});
  }
  return entries;
}

const CLI::App& root_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app : root_of(*app.get_parent());
}

std::string usage(const CLI::App& app) {
  std::string line = "Usage: " + full_name(app);
  if (!subcommands_of(app).empty()) line += " COMMAND";
  for (const CLI::Option* argument : arguments_of(app)) line += " " + argument_label(*argument);
  return line + " [OPTIONS]\n";
}

}  // namespace

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::string help_text(const CLI::App& app) {
  const CLI::App& root = root_of(app);
  std::string result = usage(app) + "\n";
  for (const std::string& line : wrap(app.get_description(), 0)) result += line + "\n";
  result += section("Commands", command_entries(app));
  result += section("Arguments", argument_entries(app));
  if (&app != &root) result += section("Options", option_entries(app));
  std::vector<Entry> global = option_entries(root);
  global.push_back({"-h, --help", root.get_help_ptr()->get_description()});
  result += section("Global options", global);
  if (&app != &root && !subcommands_of(app).empty()) {
    result += fmt::format("\nSee '{} COMMAND --help' for each of them.\n", full_name(app));
  }
  if (!app.get_footer().empty()) result += "\n" + app.get_footer() + "\n";
  return result;
}

std::string short_help_text(const CLI::App& app) {
  return usage(app) + section("Commands", command_entries(app)) +
         fmt::format("\nSee '{} --help' for options and examples.\n", full_name(app));
}

}  // namespace leafctl
