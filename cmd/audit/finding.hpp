#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "terminal/output.hpp"

namespace leafctl {

/// How much one finding is worth a look.
enum class FindingState {
  ok,
  unknown,  ///< the input does not tell
  warning,
  failed,
};

std::string_view name_of(FindingState state);

/// One thing that an audit has found out. The name is a contract; several may have the same one.
struct Finding {
  std::string name;
  FindingState state = FindingState::ok;
  std::string detail{};
  std::string subject{};  ///< the ID, worker or limit that it is about; empty: all of them
  Measures measures{};    ///< the numbers in it; their names are a contract
};

using Findings = std::vector<Finding>;

/// As a table without the measures on a terminal, else with them: a tab-separated line or an object each.
void print_findings(const Findings& findings, Output& output);

}  // namespace leafctl
