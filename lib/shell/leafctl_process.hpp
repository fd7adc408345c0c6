#pragma once

#include <optional>
#include <string>
#include <vector>

namespace leaf::shell {

/// What a run of leafctl came to.
struct Ended {
  int status = 0;      ///< as the shell counts it: 128 and the signal's number where it died of one
  std::string output;  ///< if it was to be kept
};

enum class Output { shown, kept };

/// Runs `program` in the shell's process group, with `environment`, and waits for it. A signal that asks the
/// shell to end is passed on. None if it cannot be run; errno says why.
std::optional<Ended> run(const std::string& program, const std::vector<const char*>& arguments,
                         char* const* environment, Output output);

}  // namespace leaf::shell
