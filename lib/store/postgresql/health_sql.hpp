#pragma once

namespace leaf::store::postgresql {

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
  const char* commits_wait;  ///< for a synchronous standby: 1, else 0
  /// -> names of those that write into the tables
  const char* subscriptions;
  /// -> tables
  const char* unlogged_tables;
  /// -> what the present role may not do but has to, in words
  const char* missing_rights;
};

extern const HealthSql health_sql;

}  // namespace leaf::store::postgresql
