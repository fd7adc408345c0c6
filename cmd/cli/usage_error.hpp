#pragma once

#include <string>
#include <vector>

#include "cli/cli11.hpp"
#include "leaf/error.hpp"

namespace leafctl {

/// What CLI11 found wrong in a command line.
struct Rejection {
  enum class Reason { missing_value, missing_argument, other };

  Reason reason;
  std::string text;                    ///< CLI11's own
  std::vector<std::string> left_over;  ///< arguments that the command does not take
};

/// The rejection of `arguments` in leafctl's own words; `selected` is the command that was recognized.
leaf::Error usage_error(const CLI::App& selected, const std::vector<std::string>& arguments,
                        const Rejection& rejection);

/// Says that `group` has no command `word`, and which one may have been meant.
leaf::Error unknown_command(const CLI::App& group, const std::string& word);

}  // namespace leafctl
