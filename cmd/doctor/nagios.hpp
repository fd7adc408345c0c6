#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/check.hpp"

namespace leafctl {

/// The exit status of a Nagios plugin that could not look.
inline constexpr int nagios_unknown = 3;

/// The exit status of a Nagios plugin that saw `checks`: 0 all is well, 1 a warning, 2 a failure.
int nagios_status(const Checks& checks);

/// Whether `arguments` ask for the answer of a plugin, also where they cannot be understood otherwise.
bool wants_nagios(const std::vector<std::string>& arguments);

/// The line of a Nagios plugin that could not look.
std::string nagios_unknown_line(std::string_view why);

/// The line of a Nagios plugin: what is not well, and all measures as performance data.
std::string nagios_line(const Checks& checks);

}  // namespace leafctl
