#include "cli/command_line.hpp"
#include "cli/declaration.hpp"
#include "commands.hpp"
#include "terminal/manual_page.hpp"

namespace leafctl {

namespace {

class Help : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Shows the manual page of a command on a terminal, if man and the page are installed; otherwise "
        "prints what the command's --help prints.");
    command.add_texts_argument("COMMAND", "COMMAND", words_, "the command's words");
    command.add_examples(
        "Examples:\n"
        "  leafctl help next\n"
        "  leafctl help tags update");
  }

  void run(Session& session) override {
    const std::string text = CommandLine(commands(), session.output.prose_width()).help(words_);
    if (session.output.is_terminal() && show_manual_page(page())) return;
    session.output.print_text(text);
  }

  bool needs_settings() const override { return false; }

 private:
  /// The members of a group are on its page.
  std::string page() const { return words_.empty() ? "leafctl" : "leafctl-" + words_.front(); }

  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> make_help() {
  return std::make_unique<Help>();
}

}  // namespace leafctl
