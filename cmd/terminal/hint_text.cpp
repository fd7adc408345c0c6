#include "terminal/hint_text.hpp"

namespace leafctl {

std::string with_option(std::string_view hint, std::string_view option) {
  constexpr std::string_view begin = "'leafctl ";
  std::string text;
  std::size_t done = 0;
  while (!option.empty()) {
    const auto at = hint.find(begin, done);
    if (at == std::string_view::npos) break;
    const auto arguments = at + begin.size();
    text += hint.substr(done, arguments - done);
    done = arguments;
    const auto command = hint.substr(arguments, hint.find('\'', arguments) - arguments);
    if (command.find("--store") == std::string_view::npos) text.append(option).append(" ");
  }
  return text.append(hint.substr(done));
}

}  // namespace leafctl
