#include "shell/command.hpp"

#include <charconv>

namespace leaf::shell {

namespace {

/// Reads words one by one.
class Words {
 public:
  explicit Words(std::span<const char* const> words) : words_(words) {}

  bool has_more() const { return next_ < words_.size(); }
  const char* next() { return words_[next_++]; }

 private:
  std::span<const char* const> words_;
  std::size_t next_ = 0;
};

/// The number of IDs that -n asks for; none if that is nothing to be drawn from memory.
bool read_count(std::string_view text, std::uint64_t& count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc{} && end == text.data() + text.size() && count >= 1 && count <= most_from_memory;
}

/// The value of an option that is `word`, or the word after it; null if there is none.
const char* value_of(const char* word, std::string_view option, char joined_by, Words& words,
                     Command& command) {
  const std::string_view text(word);
  if (text == option) {
    if (!words.has_more()) return nullptr;
    const char* const value = words.next();
    command.for_leafctl.push_back(value);
    return value;
  }
  return word + option.size() + (joined_by == '=' ? 1 : 0);
}

struct Parser {
  Words words;
  Command& command;
  bool is_next;
  bool is_plain = true;
  bool is_snowflake = false;
  const char* argument = nullptr;

  void take_argument(const char* word) {
    if (argument != nullptr) is_plain = false;
    argument = word;
    command.for_leafctl.push_back(word);
  }

  void take_variable(const char* word) {
    command.has_variable_option = true;
    if (word[2] != '\0') {
      command.variable = word + 2;
    } else if (words.has_more()) {
      command.variable = words.next();
    }
  }

  void take_count(const char* word, std::string_view option, char joined_by) {
    command.for_leafctl.push_back(word);
    command.has_count = true;
    const char* const value = value_of(word, option, joined_by, words, command);
    is_plain = is_plain && value != nullptr && read_count(value, command.count);
  }

  void take_option(const char* word) {
    const std::string_view text(word);
    if (text.starts_with("-v")) return take_variable(word);
    if (is_next && text == "--snowflake") {
      is_snowflake = true;
      return command.for_leafctl.push_back(word);
    }
    if (is_next && text.starts_with("-n")) return take_count(word, "-n", ' ');
    if (is_next && text == "--count") return take_count(word, "--count", ' ');
    if (is_next && text.starts_with("--count=")) return take_count(word, "--count", '=');
    is_plain = false;
    command.for_leafctl.push_back(word);
  }

  void run() {
    bool are_arguments = false;
    while (words.has_more()) {
      const char* const word = words.next();
      if (are_arguments || word[0] != '-') {
        take_argument(word);
      } else if (std::string_view(word) == "--") {
        are_arguments = true;
        command.for_leafctl.push_back(word);
      } else {
        take_option(word);
      }
    }
    if (!is_plain) return;
    if (is_next && is_snowflake && argument == nullptr) command.kind = Command::Kind::snowflakes;
    if (is_next && !is_snowflake && argument != nullptr) command.kind = Command::Kind::tag;
    if (!is_next && argument != nullptr && command.variable != nullptr) command.kind = Command::Kind::decode;
    command.tag = command.id = argument;
  }
};

}  // namespace

void parse(std::span<const char* const> words, Command& command) {
  const std::string_view name = words.empty() ? "" : words.front();
  command = {};
  if (name != "next" && name != "decode") {
    command.for_leafctl.assign(words.begin(), words.end());
    return;
  }
  command.for_leafctl.push_back(words.front());
  Parser{.words = Words(words.subspan(1)), .command = command, .is_next = name == "next"}.run();
}

}  // namespace leaf::shell
