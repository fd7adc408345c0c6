#pragma once

#include <string>
#include <vector>

namespace leafctl {

enum class CheckState { ok, warning, failed };

/// One thing that was looked at. The name is a contract; several checks may have the same one.
struct Check {
  std::string name;
  CheckState state = CheckState::ok;
  std::string detail;  ///< what was seen
  std::string hint{};  ///< what mends it, unless it is ok
};

using Checks = std::vector<Check>;

}  // namespace leafctl
