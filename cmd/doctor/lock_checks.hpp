#pragma once

#include "doctor/check.hpp"
#include "leaf/health.hpp"

namespace leafctl {

/// Names who keeps others from their IDs, and what ends that.
Checks lock_checks(const leaf::StoreHealth& health);

}  // namespace leafctl
