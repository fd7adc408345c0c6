#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "leaf/health.hpp"
#include "store/connection.hpp"

namespace leaf::store {

// Inline: drivers ask too, and see no more of the library than it shows to programs.

/// What Sql::table_faults finds; nothing where the database has no such.
inline std::vector<TableFault> find_table_faults(Connection& connection, std::chrono::milliseconds timeout) {
  std::vector<TableFault> faults;
  if (connection.sql().table_faults == nullptr) return faults;
  for (const Row& row : connection.execute(connection.sql().table_faults, {}, timeout))
    faults.push_back({.what = row.text(0), .remedy = row.text(1), .stops_grants = row.integer(2) == 1});
  return faults;
}

/// Whether one of `faults` keeps the present role from what grants need.
inline bool any_stops_grants(const std::vector<TableFault>& faults) {
  return std::ranges::any_of(faults, &TableFault::stops_grants);
}

/// Throws Error (refused) if something keeps the present role from rows that grants need. To be asked where
/// rows that should be there are not.
void require_no_table_fault(Connection& connection, std::chrono::milliseconds timeout);

/// Whether `error` may come from what somebody has added to a table.
bool may_be_table_fault(const Error& error);

}  // namespace leaf::store
