#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "terminal/output.hpp"

namespace leafctl {

enum class CheckState { ok, warning, failed };

/// One thing that was looked at. The name is a contract; several checks may have the same one.
struct Check {
  std::string name;
  CheckState state = CheckState::ok;
  std::string detail;     ///< what was seen
  std::string hint{};     ///< what mends it, unless it is ok
  std::string subject{};  ///< the tag, worker or owner that it is about; empty: none alone
  Measures measures{};    ///< the numbers in it; their names are a contract
};

using Checks = std::vector<Check>;

/// For a measure.
inline double seconds_of(std::chrono::milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace leafctl
