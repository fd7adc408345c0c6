#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "store/connection.hpp"

namespace leaf::store {

/// What others have made where the tables are, in the transaction that is open. None in a store without
/// roles.
std::vector<ForeignObject> find_foreign_objects(Connection& connection, std::chrono::milliseconds timeout);

/// Takes over and drops `adopted`, and throws Error (refused) where there is anything else or more.
void adopt(Connection& connection, const std::vector<ForeignObject>& adopted,
           std::chrono::milliseconds timeout);

/// What adopt() does, for somebody to run by hand.
std::string adoption_script(const Connection& connection, const std::vector<ForeignObject>& adopted);

}  // namespace leaf::store
