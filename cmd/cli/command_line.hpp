#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/cli11.hpp"
#include "cli/command.hpp"
#include "cli/declaration.hpp"
#include "cli/usage_error.hpp"
#include "settings/settings.hpp"

namespace leafctl {

/// What a command line asks for: to run a command or, where there is none, to print a text.
struct Request {
  Command* command = nullptr;  ///< owned by the CommandLine
  std::string text{};          ///< help or version
  bool incomplete = false;     ///< the text is help for somebody who named no command
};

/// The tree of `commands` and their options. A command is made, and its options declared, only when it is
/// named; and options only where a word begins with a hyphen.
class CommandLine {
 public:
  /// `commands` are in the order in which the help lists them. Help that is asked for fits `line_width`
  /// columns, help for somebody who named no command `short_line_width`.
  explicit CommandLine(std::span<const CommandEntry> commands, std::size_t line_width = 80,
                       std::size_t short_line_width = 80);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Parses `arguments`, without the program's name; once for each object. Throws leaf::Error (usage).
  Request parse(std::vector<std::string> arguments);

  /// The help of the command that `words` name; of the program if there are none. Throws leaf::Error (usage).
  std::string help(const std::vector<std::string>& words);

  /// The program itself, above all commands.
  CLI::App& root();
  /// The command that `word` names in `group`, with its options declared; null if there is none.
  CLI::App* find_command(CLI::App& group, const std::string& word);

  std::span<const CommandEntry> commands() const noexcept { return commands_; }
  const GlobalOptions& options() const noexcept { return options_; }

 private:
  struct Node {
    CLI::App* app;
    CommandFactory make;
    std::unique_ptr<Command> command;
  };

  /// Declares the program with the commands whose first word is `group`, all if there is none. Once: later
  /// calls do nothing.
  void declare(std::string_view group = {}, Declaration::Extent extent = Declaration::Extent::all);
  void declare_global_options();
  void add_command(const CommandEntry& entry);
  void set_up(Node& node);
  Node* node_of(const CLI::App* app);
  CLI::App& selected();
  leaf::Error rejected(const std::vector<std::string>& arguments, Rejection::Reason reason,
                       const std::exception& error);

  std::span<const CommandEntry> commands_;
  std::unique_ptr<CLI::App> app_;
  std::size_t line_width_;
  std::size_t short_line_width_;
  GlobalOptions options_;
  std::vector<Node> nodes_;
  Declaration::Extent extent_ = Declaration::Extent::all;
};

}  // namespace leafctl
