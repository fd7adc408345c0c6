#pragma once

#include <cstdint>

#include "store/connection.hpp"
#include "store/migrations.hpp"

namespace leaf::store {

/// As Store::set_guard_steps(), in a transaction that is not to be committed if this throws.
void set_guard_steps(Connection& connection, std::int64_t steps, const Transaction& transaction);

}  // namespace leaf::store
