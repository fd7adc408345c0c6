#include "command_line.hpp"
#include "commands.hpp"
#include "manual_page.hpp"

namespace leafctl {

namespace {

class Help : public Command {
 public:
  void setup(CLI::App& app) override {
    app.description(
        "Shows the manual page of a command on a terminal, where man and the page are installed; else prints "
        "the same as the command's --help.");
    app.add_option("COMMAND", words_, "the command's words")->type_name("COMMAND");
    app.footer(
        "Examples:\n"
        "  leafctl help next\n"
        "  leafctl help tags update");
  }

  void run(Session& session) override {
    const std::string text = CommandLine().help(words_);
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
