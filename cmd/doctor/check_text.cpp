#include "doctor/check_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/color.hpp"
#include "text/line_wrap.hpp"
#include "text/text_escape.hpp"

namespace leafctl {

namespace {

constexpr std::size_t gap = 2;

std::string_view color_of(CheckState state) {
  switch (state) {
    case CheckState::ok:
      return green;
    case CheckState::warning:
      return yellow;
    case CheckState::failed:
      break;
  }
  return red;
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
    result += fmt::format("{:<{}}{}{:{}}", check.name, names, paint(color_of(check.state), state, color), "",
                          states - state.size());
    result += block(escape_for_terminal(check.detail), indent, line_width);
    if (!check.hint.empty())
      result += fmt::format("{:{}}{}", "", indent,
                            block("hint: " + escape_for_terminal(check.hint), indent, line_width));
  }
  return result;
}

}  // namespace leafctl
