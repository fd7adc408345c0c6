#include "text/line_wrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "text/display_width.hpp"

namespace leafctl {

namespace {

constexpr std::size_t hanging = 2;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Breaks what no blank breaks, behind a separator where there is one.
std::vector<std::string> broken(std::vector<std::string> lines, std::size_t room) {
  std::vector<std::string> result;
  for (std::string& line : lines) {
    while (display_width(line) > room) {
      const std::size_t fitting = size_within(line, room);
      const std::size_t separator = line.find_last_of("/,|=", fitting - 1);
      const std::size_t length = separator == std::string::npos || separator == 0 ? fitting : separator + 1;
      result.push_back(line.substr(0, length));
      line.erase(0, length);
    }
    result.push_back(std::move(line));
  }
  return result;
}

std::string fold_line(std::string_view line, std::size_t line_width) {
  if (display_width(line) <= line_width) return std::string(line);
  const std::size_t indent = std::min(line.find_first_not_of(' '), line_width / 2);
  const std::size_t room = line_width - std::min(indent + hanging, line_width / 2);
  std::string result;
  for (const std::string& part : wrap(std::string(line), line_width - room, line_width, LongWords::broken)) {
    result += result.empty() ? std::string(indent, ' ') : "\n" + std::string(line_width - room, ' ');
    result += part;
  }
  return result;
}

}  // namespace

std::vector<std::string> wrap(const std::string& text, std::size_t indent, std::size_t line_width,
                              LongWords long_words) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (!line.empty() && indent + display_width(line) + 1 + display_width(word) > line_width) {
      lines.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return long_words == LongWords::broken ? broken(std::move(lines), line_width - indent) : lines;
}

std::string block(const std::string& text, std::size_t indent, std::size_t line_width) {
  if (indent + display_width(text) <= line_width) return text + "\n";
  return fmt::format("{}\n", fmt::join(wrap(text, indent, line_width), fmt::format("\n{:{}}", "", indent)));
}

std::string fold(std::string_view text, std::size_t line_width) {
  std::string result;
  for (const std::string_view line : lines_of(text)) result += fold_line(line, line_width) + "\n";
  if (!text.ends_with('\n') && !result.empty()) result.pop_back();
  return result;
}

std::string refill(std::string_view text, std::size_t line_width) {
  std::string filled;
  bool in_paragraph = false;
  for (const std::string_view line : lines_of(text)) {
    const bool is_prose = !line.empty() && line.front() != ' ';
    if (!filled.empty()) filled += in_paragraph && is_prose ? ' ' : '\n';
    filled += line;
    in_paragraph = is_prose;
  }
  std::string result;
  for (const std::string_view line : lines_of(filled)) {
    const bool is_prose = !line.empty() && line.front() != ' ';
    if (!is_prose) {
      result += fold_line(line, line_width) + "\n";
      continue;
    }
    for (const std::string& part : wrap(std::string(line), 0, line_width, LongWords::broken))
      result += part + "\n";
  }
  if (!text.ends_with('\n') && !result.empty()) result.pop_back();
  return result;
}

}  // namespace leafctl
