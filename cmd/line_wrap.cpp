#include "line_wrap.hpp"

#include <sstream>

namespace leafctl {

std::vector<std::string> wrap(const std::string& text, std::size_t indent) {
  constexpr std::size_t line_width = 80;
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (!line.empty() && indent + line.size() + 1 + word.size() > line_width) {
      lines.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return lines;
}

}  // namespace leafctl
