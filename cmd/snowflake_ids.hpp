#pragma once

#include <cstdint>

#include "command.hpp"

namespace leafctl {

/// Prints `count` new snowflake IDs, in constant memory. Throws leaf::Error as SnowflakeGenerator does,
/// `usage` if the store has another layout than is expected; what was made before is printed then.
void print_snowflake_ids(std::int64_t count, Session& session);

}  // namespace leafctl
