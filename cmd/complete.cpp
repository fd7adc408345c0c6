#include <fmt/format.h>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "completion/completion.hpp"
#include "leaf/error.hpp"
#include "terminal/time_limit.hpp"

namespace leafctl {

namespace {

/// Longer than a store in reach takes to answer, shorter than somebody at a prompt minds.
constexpr std::chrono::milliseconds patience{400};

class Complete : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Lists what can take the place of the last word of a command line, which may be empty. For shells: "
        "says nothing if it fails, changes nothing, and never takes long.");
    command.add_texts_argument("WORD", "", words_,
                               "the words of the command line after the program's name; '--' comes first");
    command.add_examples(
        "Prints a word and its description, tab-separated, on a line each. A line without\n"
        "a word stands for the names of files, behind the text in the second column.\n\n"
        "Examples:\n"
        "  leafctl complete -- tags sh\n"
        "  leafctl complete -- next --store=sqlite:leaf.db ''");
  }

  void run(Session& session) override {
    exit_quietly_after(patience);
    CommandLine command_line(commands());
    try {
      for (const Candidate& candidate : candidates_at(find_cursor(command_line, words_))) {
        session.output.print_text(fmt::format("{}\t{}\n", candidate.word, candidate.description));
      }
    } catch (const leaf::Error&) {
      // A prompt is no place for a message; without candidates the reader types on.
    }
  }

  bool needs_settings() const override { return false; }

 private:
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> make_complete() {
  return std::make_unique<Complete>();
}

}  // namespace leafctl
