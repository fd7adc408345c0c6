#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "store/connection.hpp"

namespace leaf::store {

/// The triggers that these have made and not dropped: names, and the statements that make them.
std::map<std::string, std::string> triggers_of(std::span<const Migration> migrations);

/// A trigger that keeps IDs from coming again, and does not run, or a key or function that is missing.
struct StoppedTrigger {
  std::string name;
  std::string again;  ///< the SQL that has it run, placed like that of a migration
};

/// Those that somebody has turned off or dropped, of what a schema of `version` has. Without those of the log
/// of changes.
std::vector<StoppedTrigger> stopped_triggers(Connection& connection, std::span<const Migration> migrations,
                                             int version, std::chrono::milliseconds timeout);

}  // namespace leaf::store
