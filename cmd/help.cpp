#include "command_line.hpp"
#include "commands.hpp"

namespace leafctl {

namespace {

class Help : public Command {
 public:
  void setup(CLI::App& app) override {
    app.description("Prints the help of a command, the same as its --help.");
    app.add_option("COMMAND", words_, "the command's words")->type_name("COMMAND");
    app.footer(
        "Examples:\n"
        "  leafctl help next\n"
        "  leafctl help tags update");
  }

  void run(Session& session) override { session.output.print_text(CommandLine().help(words_)); }

  bool needs_settings() const override { return false; }

 private:
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> make_help() {
  return std::make_unique<Help>();
}

}  // namespace leafctl
