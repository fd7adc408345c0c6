#pragma once

#include <vector>

#include "doctor/check.hpp"
#include "leaf/host.hpp"
#include "leaf/store.hpp"
#include "leaf/worker.hpp"

namespace leafctl {

/// Whether a window is open or renewed, so that no worker need be free for `request` at `now`: what the host
/// has in `buffers`, or the worker that is pinned, which its owner holds. `workers` are all of `store`.
bool has_lease(const leaf::WorkerRequest& request, const std::vector<leaf::HostBuffer>& buffers,
               const leaf::StoreIdentity& store, const std::vector<leaf::Worker>& workers,
               leaf::UnixTime now);

/// Finds why the store would lease no worker for `request`, or why who `has_lease` can lease no later window.
Checks lease_checks(leaf::Store& store, const leaf::WorkerRequest& request, bool has_lease);

}  // namespace leafctl
