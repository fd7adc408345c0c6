#pragma once

#include <chrono>
#include <string>

#include "leaf/layout.hpp"

namespace leafctl {

/// A duration as people say it, in its two largest units: "12ms", "3m 20s", "-4d 1h".
std::string rough_duration(std::chrono::milliseconds duration);

/// How far `time` is from `now`: "in 3m 20s", "5h 2m ago", "now".
std::string rough_distance(leaf::UnixTime time, leaf::UnixTime now);

}  // namespace leafctl
