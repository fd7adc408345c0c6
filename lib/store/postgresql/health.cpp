#include "store/postgresql/health.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include "leaf/error.hpp"
#include "store/postgresql/health_sql.hpp"
#include "store/table_faults.hpp"

namespace leaf::store::postgresql {

namespace {

using std::chrono::milliseconds;

std::vector<std::string> texts(Connection& connection, const char* statement, milliseconds timeout) {
  std::vector<std::string> result;
  for (const Row& row : connection.execute(statement, {}, timeout)) result.push_back(row.text(0));
  return result;
}

void identify(StoreHealth& health, Connection& connection, milliseconds timeout) {
  try {
    const Row row = only_row(connection.execute(health_sql.identity, {}, timeout));
    health.system_identifier = row.text(0);
    health.timeline = static_cast<int>(row.integer(1));
  } catch (const Error&) {
    // Other databases have none, and an administrator may have revoked it.
    if (!connection.usable()) throw;
  }
}

GuardedChange change_of(std::int64_t number) {
  return number == 1 ? GuardedChange::server : number == 2 ? GuardedChange::tables : GuardedChange::noticed;
}

void look_at_guard(StoreHealth& health, Connection& connection, milliseconds timeout) {
  try {
    const auto rows = connection.execute(health_sql.guard, {}, timeout);
    if (rows.empty()) return;
    health.guard = ServerGuard{.steps = rows[0].integer(0),
                               .tags_ahead = rows[0].integer(1),
                               .tags_without_room = rows[0].integer(3),
                               .tags_behind = rows[0].integer(4),
                               .leases_from = {},
                               .change = change_of(rows[0].integer(5))};
    if (const auto from = rows[0].integer_or_null(2))
      health.guard->leases_from = UnixTime(milliseconds(*from));
  } catch (const Error&) {
    // A standby does not tell, and the tables may be missing, older or closed: other checks name that.
    if (!connection.usable()) throw;
  }
}

void count_tags(StoreHealth& health, Connection& connection, milliseconds timeout) {
  try {
    const auto rows = connection.execute(health_sql.lost_tags, {}, timeout);
    if (rows.empty()) return;
    health.tags_known = rows[0].integer(0);
    health.tags_lost = rows[0].integer(1);
  } catch (const Error&) {
    // The tables may be missing, older or closed: other checks name that.
    if (!connection.usable()) throw;
  }
}

}  // namespace

StoreHealth inspect(Connection& connection, const std::string&, milliseconds timeout) {
  connection.find_tables(timeout);
  const Row server = only_row(connection.execute(health_sql.server, {}, timeout));
  constexpr int versions_in_a_major = 10'000;
  StoreHealth health;
  health.database = "PostgreSQL";
  health.version = server.text(0);
  health.oldest_version = "13";
  health.is_supported = server.integer(1) == 1;
  health.client =
      fmt::format("libpq {}.{}", PQlibVersion() / versions_in_a_major, PQlibVersion() % versions_in_a_major);
  health.database_name = server.text(2);
  health.role = server.text(3);
  health.is_standby = server.integer(4) == 1;
  health.is_read_only = server.integer(5) == 1;
  if (!health.is_standby) health.transactions_left = server.integer(6);
  health.oldest_database = server.text(7);
  identify(health, connection, timeout);
  health.table_faults = find_table_faults(connection, timeout);
  // Of rows that are out of sight, or not all that are found, nothing can be told.
  const bool are_rows_seen = !any_stops_grants(health.table_faults);
  if (are_rows_seen) look_at_guard(health, connection, timeout);
  for (const std::string& remedy : texts(connection, health_sql.guard_remedy, timeout))
    health.guard_remedy = remedy;
  if (are_rows_seen) count_tags(health, connection, timeout);
  for (const Row& row : connection.execute(health_sql.settings, {}, timeout))
    health.settings.push_back({row.text(0), row.text(1), row.text(2)});
  health.commits_wait = only_row(connection.execute(health_sql.commits_wait, {}, timeout)).integer(0) == 1;
  health.subscriptions = texts(connection, health_sql.subscriptions, timeout);
  health.unlogged_tables = texts(connection, health_sql.unlogged_tables, timeout);
  for (const Row& row : connection.execute(connection.sql().schema_creators, {}, timeout)) {
    health.schema_creators.push_back(row.text(0));
    health.schema = row.text(1);
  }
  for (const Row& row : connection.execute(connection.sql().schema_owners, {}, timeout)) {
    health.schema_owners.push_back(row.text(0));
    health.schema = row.text(1);
    health.table_owner = row.text(2);
  }
  health.missing_rights = texts(connection, health_sql.missing_rights, timeout);
  return health;
}

}  // namespace leaf::store::postgresql
