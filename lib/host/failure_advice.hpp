#pragma once

#include "host/shared_state.hpp"
#include "leaf/remedy.hpp"

namespace leaf::host {

/// Notes what to do about the failure of the last fetch, for other processes; under the lock. Remedies that
/// find no room are left out.
void set_failure_advice(SharedState& state, const Advice& advice);

/// What was noted. Of a hint that a program of an earlier version has left there are no remedies.
Advice failure_advice(const SharedState& state);

}  // namespace leaf::host
