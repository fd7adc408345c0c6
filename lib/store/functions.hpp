#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "leaf/health.hpp"
#include "leaf/store.hpp"
#include "store/connection.hpp"

namespace leaf::store {

/// The functions for SQL that the store of `connection` has, by schema; `newest` is the schema version that
/// this library knows. None in a store that can have none.
std::vector<StoreFunctions> find_functions(Connection& connection, int newest,
                                           std::chrono::milliseconds timeout);

}  // namespace leaf::store
