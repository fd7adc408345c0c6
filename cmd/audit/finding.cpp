#include "audit/finding.hpp"

namespace leafctl {

namespace {

constexpr Column<Finding> all_columns[] = {
    {"finding", [](const Finding& finding) -> Cell { return finding.name; }},
    {"state", [](const Finding& finding) -> Cell { return std::string(name_of(finding.state)); }},
    {"detail", [](const Finding& finding) -> Cell { return Remark{finding.detail}; }},
    {"subject", [](const Finding& finding) -> Cell { return finding.subject; }},
    {"measures", [](const Finding& finding) -> Cell { return finding.measures; }},
};

constexpr Column<Finding> columns_for_people[] = {
    {"finding", all_columns[0].cell},
    {"subject", all_columns[3].cell},
    {"state", all_columns[1].cell},
    {"detail", all_columns[2].cell},
};

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
    output.print_list(columns_for_people, findings);
  } else {
    output.print_list(all_columns, findings);
  }
}

}  // namespace leafctl
