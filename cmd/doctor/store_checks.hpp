#pragma once

#include <chrono>

#include "doctor/check.hpp"
#include "leaf/health.hpp"

namespace leafctl {

/// Judges how a store is set up: server, primary, schema, rights, durability, clock, identity.
Checks store_checks(const leaf::StoreHealth& health, std::chrono::milliseconds max_skew);

}  // namespace leafctl
