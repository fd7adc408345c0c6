#include "completion/completion_cursor.hpp"

#include "cli/command_tree.hpp"

namespace leafctl {

namespace {

class Walk {
 public:
  explicit Walk(CommandLine& command_line) : command_line_(command_line), command_(&command_line.root()) {}

  void pass(const std::string& word) {
    if (cursor_.option != nullptr) {
      note_value(*cursor_.option, word);
      cursor_.option = nullptr;
    } else if (cursor_.options_ended || !is_option(word)) {
      pass_argument(word);
    } else if (word == "--") {
      cursor_.options_ended = true;
    } else if (word.starts_with("--")) {
      pass_long_option(word);
    } else {
      pass_short_options(word);
    }
  }

  CompletionCursor stop_at(const std::string& word) {
    cursor_.commands = command_line_.commands();
    cursor_.command = command_;
    cursor_.word = word;
    const std::size_t equals = word.find('=');
    const bool has_value = word.starts_with("--") && equals != std::string::npos;
    if (cursor_.option == nullptr && !cursor_.options_ended && has_value) {
      cursor_.option = find_option(*command_, word.substr(0, equals));
      if (cursor_.option != nullptr) cursor_.prefix = word.substr(0, equals + 1);
    }
    return cursor_;
  }

 private:
  static bool is_option(const std::string& word) { return word.size() > 1 && word.starts_with('-'); }

  void pass_argument(const std::string& word) {
    CLI::App* const command =
        cursor_.arguments.empty() ? command_line_.find_command(*command_, word) : nullptr;
    if (command != nullptr) {
      command_ = command;
    } else {
      cursor_.arguments.push_back(word);
    }
  }

  void pass_long_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const CLI::Option* const option = find_option(*command_, word.substr(0, equals));
    if (option == nullptr) return;
    cursor_.given.push_back(option);
    if (equals != std::string::npos) {
      note_value(*option, word.substr(equals + 1));
    } else if (takes_value(*option)) {
      cursor_.option = option;
    }
  }

  /// Such as "-qn5": flags, then one option with its value.
  void pass_short_options(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const CLI::Option* const option = find_option(*command_, std::string{'-', word[i]});
      if (option == nullptr) return;
      cursor_.given.push_back(option);
      if (!takes_value(*option)) continue;
      if (i + 1 == word.size()) {
        cursor_.option = option;
      } else {
        note_value(*option, word.substr(i + 1));
      }
      return;
    }
  }

  void note_value(const CLI::Option& option, const std::string& value) {
    const std::vector<std::string> names = long_names_of(option);
    if (names.empty()) return;
    const std::string flag = "--" + names.front();
    if (flag == "--config") cursor_.settings.config_file = value;
    for (std::size_t i = 0; i < all_settings().size(); ++i) {
      if (all_settings()[i].long_flag() == flag) cursor_.settings.values[i] = value;
    }
  }

  CommandLine& command_line_;
  CLI::App* command_;
  CompletionCursor cursor_;
};

}  // namespace

CompletionCursor find_cursor(CommandLine& command_line, const std::vector<std::string>& words) {
  Walk walk(command_line);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) walk.pass(words[i]);
  return walk.stop_at(words.empty() ? std::string() : words.back());
}

}  // namespace leafctl
