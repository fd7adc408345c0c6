#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leaf/clock.hpp"
#include "leaf/worker.hpp"
#include "store/grant_marks.hpp"

namespace leaf::store {

/// The highest worker of `range` that neither the store, which has those that are `known`, nor this host
/// knows to have been leased beyond `time`.
std::optional<std::int64_t> spare_worker(const std::vector<Worker>& known, const WorkerRange& range,
                                         GrantMarks& marks, const std::string& deployment, UnixTime time);

// A window is over once it is by the store's clock and by this host's, which is at `host_time`. Who has given
// a worker back may be leased it again up to `lead` before that.

/// Whether the worker that `request` pins can be leased now.
bool is_free(const WorkerRequest& request, const std::vector<Worker>& known, UnixTime host_time,
             std::chrono::milliseconds lead);

/// The worker that Store::acquire_worker() is about to be leased; absent if none can be. `known` are all that
/// the store has, by number.
std::optional<std::int64_t> next_worker(const WorkerRequest& request, const std::vector<Worker>& known,
                                        const WorkerRange& range, UnixTime host_time,
                                        std::chrono::milliseconds lead);

/// How long it is until a worker can be leased that `request` would do with, should its holder not renew it;
/// absent if there is none.
std::optional<std::chrono::milliseconds> time_until_free(const WorkerRequest& request,
                                                         const std::vector<Worker>& known,
                                                         UnixTime host_time);

}  // namespace leaf::store
