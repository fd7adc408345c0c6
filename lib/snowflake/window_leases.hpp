#pragma once

#include "layout/positions.hpp"
#include "leaf/worker.hpp"
#include "range/refiller.hpp"

namespace leaf::snowflake {

/// The positions of a window for a buffer; their label is its worker. Cuts `lease` to what fits; the rest is
/// leased again as part of the next window. Throws Error (exhausted) outside of the layout's time.
range::Refill refill_of(WorkerLease& lease, const layout::Positions& positions);

/// `request` with a window of two units at least: a shorter one might hold no unit as a whole.
WorkerRequest valid_request(WorkerRequest request, const Layout& layout);

/// The lease that follows `lease`, with another worker if that was recycled. Throws Error as the store does.
WorkerLease next_lease(Store& store, const WorkerLease& lease, const WorkerRequest& request);

}  // namespace leaf::snowflake
