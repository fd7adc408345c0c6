#pragma once

#include <cstdint>
#include <optional>

#include "cli/command.hpp"
#include "leaf/id_form.hpp"

namespace leafctl {

/// What becomes of the worker.
enum class AtEnd {
  keep,     ///< it is the host's, or of the same owner again
  release,  ///< it is a worker of this process's own, and free for any owner
};

/// Prints `count` new snowflake IDs in that form, in constant memory. Throws leaf::Error as
/// SnowflakeGenerator does, `usage` if the store has another layout than is expected; what was made before is
/// printed then.
void print_snowflake_ids(std::int64_t count, std::optional<leaf::IdTemplate> form, AtEnd at_end,
                         Session& session);

}  // namespace leafctl
