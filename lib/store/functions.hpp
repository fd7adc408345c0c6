#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "leaf/health.hpp"
#include "leaf/store.hpp"
#include "store/connection.hpp"
#include "store/migrations.hpp"

namespace leaf::store {

/// The functions for SQL that the store of `connection` has, by schema; `newest` is the schema version that
/// this library knows. None in a store that can have none.
std::vector<StoreFunctions> find_functions(Connection& connection, int newest,
                                           std::chrono::milliseconds timeout);

/// As Store::install_functions(), in a transaction that is not to be committed if this throws.
std::string install_functions(Connection& connection, const std::string& schema, int newest,
                              const Transaction& transaction);

}  // namespace leaf::store
