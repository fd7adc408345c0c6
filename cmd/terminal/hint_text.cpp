#include "terminal/hint_text.hpp"

#include <algorithm>
#include <array>

#include "leaf/detail/shell_word.hpp"
#include "leaf/store.hpp"

namespace leafctl {

namespace {

/// Whether one of the words of `command` is the option: it may occur in others, such as names of tags.
bool names_store(std::string_view command) {
  for (std::size_t begin = 0; begin < command.size();) {
    const auto end = std::min(command.find(' ', begin), command.size());
    const auto word = command.substr(begin, end - begin);
    if (word == "--store" || word.starts_with("--store=")) return true;
    begin = end + 1;
  }
  return false;
}

/// Those that draw, or look at what was drawn; init-db would open the store itself to the group.
constexpr std::array takes_group{"doctor",      "next",        "serve",       "status",
                                 "tags import", "tags remove", "tags update", "workers release"};

bool draws_for_group(std::string_view command) {
  return command.find("--group") == std::string_view::npos &&
         std::ranges::any_of(takes_group, [&](std::string_view name) {
           return command.starts_with(name) && (command.size() == name.size() || command[name.size()] == ' ');
         });
}

}  // namespace

std::string with_option(std::string_view hint, std::string_view option, bool for_group) {
  constexpr std::string_view begin = "'leafctl ";
  std::string text;
  std::size_t done = 0;
  while (!option.empty() || for_group) {
    const auto at = hint.find(begin, done);
    if (at == std::string_view::npos) break;
    const auto arguments = at + begin.size();
    text += hint.substr(done, arguments - done);
    done = arguments;
    const auto command = hint.substr(arguments, hint.find('\'', arguments) - arguments);
    if (command.ends_with("--help")) continue;
    if (!option.empty() && !names_store(command)) text.append(option).append(" ");
    text += command;
    done += command.size();
    if (for_group && draws_for_group(command)) text += " --group";
  }
  return text.append(hint.substr(done));
}

std::string store_option(const std::string& url) {
  // A URL that comes from a buffer or a log has lost its password already.
  const bool is_whole = leaf::redact_url(url) == url && url.find("***") == std::string::npos;
  return "--store " + (is_whole ? leaf::detail::shell_word(url) : "STORE");
}

std::string hint_for_store(std::string_view hint, const std::string& url) {
  return with_option(hint, store_option(url));
}

}  // namespace leafctl
