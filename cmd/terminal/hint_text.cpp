#include "terminal/hint_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "leaf/detail/shell_word.hpp"
#include "leaf/store.hpp"

namespace leafctl {

namespace {

/// Whether one of the words of `command` is the option: it may occur in others, such as names of tags.
bool has_option(std::string_view command, std::string_view option) {
  for (std::size_t begin = 0; begin < command.size();) {
    const auto end = std::min(command.find(' ', begin), command.size());
    const auto word = command.substr(begin, end - begin);
    if (word.starts_with(option) && (word.size() == option.size() || word[option.size()] == '=')) return true;
    begin = end + 1;
  }
  return false;
}

/// `command` from its name on, without what was put before that.
std::string_view from_name(std::string_view command) {
  while (command.starts_with("--")) {
    auto end = command.find(' ');
    if (command.find('=') > end) {  // its value is a word of its own
      const bool is_quoted = command.substr(end).starts_with(" \"");
      end = is_quoted ? command.find("\" ", end + 2) + 1 : command.find(' ', end + 1);
    }
    if (end >= command.size()) return {};
    command.remove_prefix(end + 1);
  }
  return command;
}

/// Those that draw, or look at what was drawn; init-db would open the store itself to the group.
constexpr std::array takes_group{"add-tag",        "doctor",    "failover settle", "next",
                                 "serve",          "status",    "tags export",     "tags import",
                                 "tags remove",    "tags show", "tags update",     "workers acquire",
                                 "workers release"};

bool draws_for_group(std::string_view command) {
  command = from_name(command);
  return std::ranges::any_of(takes_group, [&](std::string_view name) {
    return command.starts_with(name) && (command.size() == name.size() || command[name.size()] == ' ');
  });
}

/// A URL that comes from a buffer or a log has lost its password already.
std::string store_word(const std::string& url) {
  const bool is_whole = leaf::redact_url(url) == url && url.find("***") == std::string::npos;
  return is_whole ? leaf::detail::shell_word(url) : "STORE";
}

std::string complete(std::string_view command, const HintedOptions& options) {
  std::string text;
  const auto add = [&](const char* option, const std::optional<std::string>& value, auto word_of) {
    if (value && !has_option(command, option)) text += fmt::format("{} {} ", option, word_of(*value));
  };
  add("--config", options.config, leaf::detail::shell_word);
  add("--store", options.store, store_word);
  add("--runtime-dir", options.runtime_dir, leaf::detail::shell_word);
  text += command;
  if (options.group && draws_for_group(command) && !has_option(command, "--group"))
    text += *options.group ? " --group" : " --group=no";
  return text;
}

}  // namespace

std::string with_options(std::string_view hint, const HintedOptions& options) {
  constexpr std::string_view begin = "'leafctl ";
  std::string text;
  std::size_t done = 0;
  for (;;) {
    const auto at = hint.find(begin, done);
    if (at == std::string_view::npos) break;
    const auto arguments = at + begin.size();
    text += hint.substr(done, arguments - done);
    done = arguments;
    const auto command = hint.substr(arguments, hint.find('\'', arguments) - arguments);
    if (command.ends_with("--help")) continue;
    text += complete(command, options);
    done += command.size();
  }
  return text.append(hint.substr(done));
}

std::string hint_for_store(std::string_view hint, const std::string& url) {
  return with_options(hint, {.store = url});
}

}  // namespace leafctl
