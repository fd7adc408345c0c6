#pragma once

#include "host/state.hpp"
#include "range/granter.hpp"

namespace leaf::host {

/// What the last grant for `state`, a buffer's, has left. Parts of two where another process writes it now.
range::GrantRecord record_of(const State& state);

/// Notes it there; the lock is held.
void keep(const range::GrantRecord& record, State& state);

}  // namespace leaf::host
