#include "cli/help_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "cli/command_tree.hpp"
#include "text/line_wrap.hpp"

namespace leafctl {

namespace {

constexpr std::size_t widest_label = 24;
/// Narrower than this, there is no room for texts beside their labels.
constexpr std::size_t least_width_beside = 60;
constexpr std::size_t indent_below = 6;

/// A label and what it means, as one entry of a list.
struct Entry {
  std::string label;
  std::string text;
};

std::string section(const std::string& title, const std::vector<Entry>& entries, std::size_t line_width) {
  if (entries.empty()) return {};
  std::string result = fmt::format("\n{}:\n", title);
  if (line_width < least_width_beside) {
    for (const Entry& entry : entries) {
      result += fold("  " + entry.label + "\n", line_width);
      for (const std::string& text : wrap(entry.text, indent_below, line_width, LongWords::broken))
        result += std::string(indent_below, ' ') + text + "\n";
    }
    return result;
  }
  std::size_t column = 0;
  for (const Entry& entry : entries) column = std::max(column, std::min(entry.label.size(), widest_label));
  column += 4;
  for (const Entry& entry : entries) {
    std::string line = "  " + entry.label;
    if (entry.label.size() > widest_label) {
      result += line + "\n";
      line.clear();
    }
    for (const std::string& text : wrap(entry.text, column, line_width, LongWords::broken)) {
      line.append(column - line.size(), ' ');
      result += line + text + "\n";
      line.clear();
    }
  }
  return result;
}

std::string option_label(const CLI::Option& option) {
  const std::vector<std::string> short_names = short_names_of(option);
  const std::vector<std::string> long_names = long_names_of(option);
  std::string label = short_names.empty() ? "    " : fmt::format("-{}", short_names.front());
  if (!long_names.empty()) {
    label += fmt::format("{}--{}", short_names.empty() ? "" : ", ", long_names.front());
  }
  if (const std::string value = value_name_of(option); takes_value(option) && !value.empty()) {
    label += fmt::format(" {}", value);
  }
  return label;
}

std::string argument_label(const CLI::Option& option) {
  const std::string name = argument_name_of(option) + (takes_many(option) ? "..." : "");
  return is_required(option) ? name : "[" + name + "]";
}

std::vector<Entry> option_entries(const CLI::App& app) {
  std::vector<Entry> entries;
  for (const CLI::Option* option : own_options_of(app)) {
    if (!is_help(app, *option)) entries.push_back({option_label(*option), description_of(*option)});
  }
  return entries;
}

std::vector<Entry> argument_entries(const CLI::App& app) {
  std::vector<Entry> entries;
  for (const CLI::Option* argument : arguments_of(app)) {
    entries.push_back({argument_label(*argument), description_of(*argument)});
  }
  return entries;
}

std::vector<Entry> command_entries(const CLI::App& app) {
  std::vector<Entry> entries;
  for (const CLI::App* command : subcommands_of(app)) {
    entries.push_back({name_of(*command), description_of(*command)});
  }
  return entries;
}

/// Of a group of commands, only its summary is known.
std::string as_sentence(std::string text) {
  if (text.empty() || text.ends_with('.')) return text;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

const CLI::App& root_of(const CLI::App& app) {
  const CLI::App* parent = parent_of(app);
  return parent == nullptr ? app : root_of(*parent);
}

std::string usage(const CLI::App& app) {
  std::string line = "Usage: " + full_name(app);
  if (!subcommands_of(app).empty()) line += " COMMAND";
  for (const CLI::Option* argument : arguments_of(app)) line += fmt::format(" {}", argument_label(*argument));
  return line + " [OPTIONS]\n";
}

}  // namespace

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = parent_of(app);
  return parent == nullptr ? name_of(app) : full_name(*parent) + " " + name_of(app);
}

std::string help_text(const CLI::App& app, std::size_t line_width) {
  const CLI::App& root = root_of(app);
  std::string result = fold(usage(app), line_width) + "\n";
  result += refill(as_sentence(description_of(app)), line_width) + "\n";
  result += section("Commands", command_entries(app), line_width);
  result += section("Arguments", argument_entries(app), line_width);
  if (&app != &root) result += section("Options", option_entries(app), line_width);
  std::string footer = footer_of(app);
  // As it was written where there is room for it.
  if (!footer.empty())
    footer = "\n" + (line_width < usual_line_width ? refill(footer, line_width) : footer) + "\n";
  if (&app != &root) result += footer;
  if (&app != &root && !subcommands_of(app).empty()) {
    result += fold(fmt::format("\nSee '{} COMMAND --help' for each of them.\n", full_name(app)), line_width);
  }
  std::vector<Entry> global = option_entries(root);
  for (const CLI::Option* option : own_options_of(root)) {
    if (is_help(root, *option)) global.push_back({option_label(*option), description_of(*option)});
  }
  result += section("Global options", global, line_width);
  return &app == &root ? result + footer : result;
}

std::string short_help_text(const CLI::App& app, std::size_t line_width) {
  return fold(usage(app), line_width) + section("Commands", command_entries(app), line_width) +
         fold(fmt::format("\nSee '{}{} --help' for options and examples.\n", full_name(app),
                          parent_of(app) == nullptr ? "" : " COMMAND"),
              line_width);
}

}  // namespace leafctl
