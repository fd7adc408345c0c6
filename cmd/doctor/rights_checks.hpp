#pragma once

#include "doctor/check.hpp"
#include "leaf/health.hpp"

namespace leafctl {

/// Judges what the present login may do, and who else may create something beside tables and functions.
Checks rights_checks(const leaf::StoreHealth& health);

}  // namespace leafctl
