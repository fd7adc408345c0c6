#include "audit/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "text/color.hpp"
#include "text/line_wrap.hpp"

namespace leafctl {

namespace {

constexpr Column<Finding> all_columns[] = {
    {"finding", [](const Finding& finding) -> Cell { return finding.name; }},
    {"state", [](const Finding& finding) -> Cell { return std::string(name_of(finding.state)); }},
    {"detail", [](const Finding& finding) -> Cell { return finding.detail; }},
    {"subject", [](const Finding& finding) -> Cell { return finding.subject; }},
    {"measures", [](const Finding& finding) -> Cell { return finding.measures; }},
};

constexpr std::size_t gap = 2;

std::string_view color_of(FindingState state) {
  switch (state) {
    case FindingState::ok:
      return green;
    case FindingState::unknown:
      return cyan;
    case FindingState::warning:
      return yellow;
    case FindingState::failed:
      break;
  }
  return red;
}

std::string table(const Findings& findings, bool color, std::size_t line_width) {
  std::size_t names = 0, subjects = 0, states = 0;
  const auto widen = [&](std::string_view name, std::string_view subject, std::string_view state) {
    names = std::max(names, name.size() + gap);
    subjects = std::max(subjects, subject.size() + gap);
    states = std::max(states, state.size() + gap);
  };
  widen("finding", "subject", "state");
  for (const Finding& finding : findings) widen(finding.name, finding.subject, name_of(finding.state));
  const std::size_t indent = names + subjects + states;
  std::string result =
      paint(bold,
            fmt::format("{:<{}}{:<{}}{:<{}}detail", "finding", names, "subject", subjects, "state", states),
            color) +
      "\n";
  for (const Finding& finding : findings) {
    const std::string_view state = name_of(finding.state);
    result += fmt::format("{:<{}}{:<{}}{}{:{}}", finding.name, names, finding.subject, subjects,
                          paint(color_of(finding.state), state, color), "", states - state.size());
    result += block(finding.detail, indent, line_width);
  }
  return result;
}

}  // namespace

std::string_view name_of(FindingState state) {
  switch (state) {
    case FindingState::ok:
      return "ok";
    case FindingState::unknown:
      return "unknown";
    case FindingState::warning:
      return "warning";
    case FindingState::failed:
      break;
  }
  return "failed";
}

void print_findings(const Findings& findings, Output& output) {
  if (output.format() == OutputFormat::text && output.is_terminal()) {
    output.print_text(table(findings, output.has_color(), output.flushed_file().line_width()));
  } else {
    output.print_list(all_columns, findings);
  }
}

}  // namespace leafctl
