// Prints what the program has, as declared, for tests of what describes it. A line each, tab-separated:
// command NAME; option COMMAND --NAME, of all commands where COMMAND is empty; setting KEY VARIABLE;
// layout NAME TEXT.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>
#include <string>

#include "cli/command_line.hpp"
#include "commands.hpp"
#include "leaf/layout.hpp"

namespace {

void print_options(const std::string& command, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    // Every command has it, and the program above them all tells of it.
    if (option == app.get_help_ptr() && !command.empty()) continue;
    for (const std::string& name : option->get_lnames())
      std::printf("option\t%s\t--%s\n", command.c_str(), name.c_str());
  }
}

}  // namespace

int main() {
  leafctl::CommandLine command_line(leafctl::commands());
  print_options("", command_line.root());
  for (const leafctl::CommandEntry& entry : leafctl::commands()) {
    if (entry.hidden) continue;
    CLI::App* app = &command_line.root();
    std::istringstream words(entry.name);
    for (std::string word; words >> word;) app = command_line.find_command(*app, word);
    std::printf("command\t%s\n", entry.name);
    print_options(entry.name, *app);
  }
  for (const leafctl::Setting& setting : leafctl::all_settings())
    std::printf("setting\t%s\t%s\n", setting.key, setting.variable);
  for (const leaf::KnownLayout& layout : leaf::known_layouts())
    std::printf("layout\t%s\t%s\n", layout.name.data(), layout.text.data());
}
