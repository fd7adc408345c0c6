#pragma once

#include "host/shared_state.hpp"
#include "range/granter.hpp"

namespace leaf::host {

/// What the last grant for `state`, a buffer's, has left. Parts of two where another process writes it now.
range::GrantRecord record_of(const SharedState& state);

/// Notes it there; the lock is held.
void keep(const range::GrantRecord& record, SharedState& state);

}  // namespace leaf::host
