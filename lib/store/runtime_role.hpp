#pragma once

#include <string>

#include "store/connection.hpp"
#include "store/migrations.hpp"

namespace leaf::store {

/// As Store::grant_runtime_role(), in a transaction that is not to be committed if this throws.
void grant_runtime_role(Connection& connection, const std::string& role, const Transaction& transaction);

}  // namespace leaf::store
