#pragma once

#include "store/sql.hpp"

namespace leaf::store::postgresql {

extern const Sql sql;

/// $1 true to set the search_path for the transaction, $2 the process ID of the server's side, to set it for
/// the session where it is that process that answers, $3 a schema and a dot where the tables lie, or NULL to
/// look along the search_path -> the schema where the tables lie or NULL, the schema where they would be made
/// or NULL, 1 if it is a table that was found, another schema of the search_path where another role has one
/// of that name or NULL, not NULL if the path was set.
extern const char* const find_schema;
/// Sets the search_path of the transaction, so that operators, functions and types are PostgreSQL's own.
extern const char* const pin;

/// What only PostgreSQL is asked about its health. But for the guard, none of it needs a right on the store's
/// tables.
struct HealthSql {
  /// -> version, 1 if it is supported, database, role, 1 if it is a standby, 1 if it is read-only
  const char* server;
  /// -> system identifier, timeline. Databases that only speak its protocol do not have them.
  const char* identity;
  /// -> the guard's steps, how many tags it will move, from when on workers are leased or NULL, how many of
  /// these tags have no room for it, how many have left out IDs. Fails without a schema of the present
  /// version, and on a standby.
  const char* guard;
  /// -> what a superuser has to run so that the guard may ask for the server; no row: nothing
  const char* guard_remedy;
  /// -> how many rows of tags there were, how many are gone
  const char* lost_tags;
  /// -> name, value, source
  const char* settings;
  /// -> tables
  const char* unlogged_tables;
  /// -> what the present role may not do but has to, in words
  const char* missing_rights;
};

extern const HealthSql health_sql;

}  // namespace leaf::store::postgresql
