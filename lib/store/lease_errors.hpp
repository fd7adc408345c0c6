#pragma once

#include <cstdint>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/worker.hpp"
#include "store/worker_range.hpp"

namespace leaf::store {

/// Why no worker was leased, and what helps. `workers` are all that the store knows.

/// That a failover or restore is too recent.
Error no_lease_before(UnixTime from, UnixTime now);

/// That the whole pool is taken.
Error all_taken(const WorkerPool& pool, const std::vector<Worker>& workers);

/// That somebody else has locked the rows of those that are free.
Error locked();

/// That the worker of this number, which is pinned, is not free at `host_time`, by this host's clock.
Error not_free(std::int64_t number, const std::vector<Worker>& workers, UnixTime host_time);

/// Throws Error (refused) if `request` pins a worker that no command brings back before its time.
void require_not_ahead(const WorkerRequest& request, const std::vector<Worker>& workers);

}  // namespace leaf::store
