#include "doctor/check_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/line_wrap.hpp"
#include "text/text_escape.hpp"

namespace leafctl {

namespace {

constexpr std::size_t gap = 2;
constexpr std::string_view bold = "1";

std::string_view color_of(CheckState state) {
  switch (state) {
    case CheckState::ok:
      return "32";
    case CheckState::warning:
      return "33";
    case CheckState::failed:
      break;
  }
  return "31";
}

std::string paint(std::string_view code, const std::string& text, bool color) {
  return color ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

/// `text` from the column `indent` on, which the first line has reached.
std::string block(const std::string& text, std::size_t indent, std::size_t line_width) {
  return fmt::format("{}\n", fmt::join(wrap(text, indent, line_width), fmt::format("\n{:{}}", "", indent)));
}

}  // namespace

std::string_view name_of(CheckState state) {
  switch (state) {
    case CheckState::ok:
      return "ok";
    case CheckState::warning:
      return "warning";
    case CheckState::failed:
      break;
  }
  return "failed";
}

std::string check_table(const Checks& checks, bool color, std::size_t line_width) {
  const std::string_view heads[] = {"check", "state"};
  std::size_t names = heads[0].size();
  std::size_t states = heads[1].size();
  for (const Check& check : checks) {
    names = std::max(names, check.name.size());
    states = std::max(states, name_of(check.state).size());
  }
  names += gap;
  states += gap;
  const std::size_t indent = names + states;
  std::string result =
      paint(bold, fmt::format("{:<{}}{:<{}}detail", heads[0], names, heads[1], states), color) + "\n";
  for (const Check& check : checks) {
    const std::string_view state = name_of(check.state);
    result += fmt::format("{:<{}}{}{:{}}", check.name, names,
                          paint(color_of(check.state), std::string(state), color), "", states - state.size());
    result += block(escape_for_terminal(check.detail), indent, line_width);
    if (!check.hint.empty())
      result += fmt::format("{:{}}{}", "", indent,
                            block("hint: " + escape_for_terminal(check.hint), indent, line_width));
  }
  return result;
}

}  // namespace leafctl
