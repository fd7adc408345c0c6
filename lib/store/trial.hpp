#pragma once

#include <chrono>
#include <optional>

#include "leaf/clock.hpp"
#include "leaf/health.hpp"
#include "store/connection.hpp"

namespace leaf::store {

// What somebody has put on the tables, such as a constraint, a trigger or a foreign key, is found by trying
// alone. The schema is the newest one.

/// What a grant is refused for, of the tags that were granted last.
std::optional<RefusedTrial> try_grants(Connection& connection, std::chrono::milliseconds timeout);
/// What leasing a worker is refused for, at a host whose clock shows `now`. No worker that could be leased is
/// no refusal.
std::optional<RefusedTrial> try_lease(Connection& connection, UnixTime now,
                                      std::chrono::milliseconds timeout);

}  // namespace leaf::store
