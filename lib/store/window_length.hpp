#pragma once

#include "leaf/layout.hpp"
#include "leaf/worker.hpp"

namespace leaf::store {

/// `request` with a window of two units at least: a shorter one might hold no unit as a whole. One longer
/// than the default has to be asked for, because after a failover a store waits no longer than that needs for
/// the windows that it does not know of: throws Error (usage) if it was not.
WorkerRequest with_whole_unit(WorkerRequest request, const Layout& layout);

}  // namespace leaf::store
