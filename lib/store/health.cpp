#include "leaf/health.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "leaf/store.hpp"
#include "store/functions.hpp"
#include "store/store_impl.hpp"
#include "store/table_faults.hpp"
#include "store/trial.hpp"
#include "store/triggers.hpp"
#include "store/unix_time.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

using std::chrono::milliseconds;
using store::Connection;

void compare_clocks(StoreHealth& health, Connection& connection, Clock& clock, milliseconds timeout) {
  if (connection.sql().clock == nullptr) return;
  const auto now = [&] { return std::chrono::floor<milliseconds>(clock.now()); };
  const UnixTime asked = now();
  const auto row = store::only_row(connection.execute(connection.sql().clock, {}, timeout));
  const UnixTime answered = now();
  const UnixTime store(milliseconds(row.integer(0)));
  health.time = store;
  if (answered < store) health.clock_offset = answered - store;
  if (asked > store) health.clock_offset = asked - store;
}

void look_at_schema(StoreHealth& health, Connection& connection, milliseconds timeout) {
  if (store::any_stops_grants(health.table_faults)) return;
  try {
    const store::Schema schema = store::read_schema(connection, timeout);
    // Tables in a folder or schema that is closed to the role are as good as none.
    if (schema.version == 0 && !health.missing_rights.empty()) return;
    health.schema_version = schema.version;
    health.minimum_reader = schema.minimum_reader;
    health.minimum_release = schema.minimum_release;
    health.deployment = schema.deployment;
  } catch (const Error& error) {
    if (error.sqlstate() != store::sqlstate::insufficient_privilege) throw;
  }
}

using Locks = std::vector<StoreLock>;

bool is_of_same(const StoreLock& one, const StoreLock& other) {
  return one.process == other.process && one.prepared == other.prepared;
}

Locks read_locks(Connection& connection, const char* statement, milliseconds timeout) {
  Locks locks;
  for (const store::Row& row : connection.execute(statement, {}, timeout)) {
    StoreLock lock{.what = {},
                   .process = row.integer(1),
                   .role = row.text(2),
                   .program = row.text(3),
                   .since = {},
                   .prepared = row.text(5)};
    if (locks.empty() || !is_of_same(locks.back(), lock)) {
      locks.push_back(std::move(lock));
      if (const auto since = row.integer_or_null(4)) locks.back().since = UnixTime(milliseconds(*since));
    }
    locks.back().what.push_back(row.text(0));
  }
  return locks;
}

/// What is held now and was a moment ago: a grant holds its row for less. None where the database has no such
/// tables, or the role may not look, which another check tells.
Locks lasting_locks(Connection& connection, const char* statement, Clock& clock, milliseconds timeout) try {
  constexpr milliseconds moment{200};
  const Locks before = read_locks(connection, statement, timeout);
  if (before.empty()) return {};
  clock.sleep_for(moment);
  Locks lasting;
  for (StoreLock& lock : read_locks(connection, statement, timeout)) {
    const auto same =
        std::ranges::find_if(before, [&](const StoreLock& then) { return is_of_same(then, lock); });
    if (same == before.end() || same->since != lock.since) continue;
    std::erase_if(lock.what, [&](const std::string& what) {
      return std::ranges::find(same->what, what) == same->what.end();
    });
    if (!lock.what.empty()) lasting.push_back(std::move(lock));
  }
  return lasting;
} catch (const Error&) {
  if (!connection.usable()) throw;
  return {};
}

/// Who locks a table keeps others from reading it too, so this comes first.
void look_at_tables(StoreHealth& health, Connection& connection, Clock& clock, milliseconds timeout) {
  const char* statement = connection.sql().locked_tables;
  if (statement != nullptr && connection.find_tables(timeout))
    health.locks = lasting_locks(connection, statement, clock, timeout);
}

/// Rows of a table that is locked are not looked at.
void look_at_rows(StoreHealth& health, Connection& connection, Clock& clock, milliseconds timeout) {
  const char* statement = connection.sql().locked_rows;
  if (statement == nullptr || !health.schema_version || *health.schema_version == 0 || !health.locks.empty())
    return;
  health.locks = lasting_locks(connection, statement, clock, timeout);
}

/// What takes too long because of `lock`.
Error kept_waiting(const Error& error, const StoreLock& lock) {
  const std::string holder = lock.prepared.empty()
                                 ? fmt::format("process {} of the server", lock.process)
                                 : fmt::format("the prepared transaction {}", lock.prepared);
  return {error.code(), fmt::format("{}: {} locks {}", error.what(), holder, fmt::join(lock.what, ", ")),
          how_to_end(lock), error.sqlstate()};
}

/// After look_at_schema().
void look_at_events(StoreHealth& health, std::span<const Migration> migrations, Connection& connection,
                    milliseconds timeout) {
  if (!health.schema_version || !store::has_events(*health.schema_version, migrations)) return;
  // A later release may have other ones.
  if (*health.schema_version > migrations.back().number) return;
  for (const store::Row& row : connection.execute(connection.sql().missing_events, {}, timeout))
    health.missing_events.push_back(row.text(0));
  for (store::StoppedTrigger& trigger :
       store::stopped_triggers(connection, migrations, *health.schema_version, timeout))
    health.stopped_triggers.push_back(std::move(trigger.name));
}

/// After look_at_schema().
void look_at_functions(StoreHealth& health, Connection& connection, milliseconds timeout) {
  if (health.schema_version.value_or(0) < health.newest_schema_version) return;
  try {
    health.functions = store::find_functions(connection, health.newest_schema_version, timeout);
  } catch (const Error&) {
    // The tables may be closed to this role: another check names that.
    if (!connection.usable()) throw;
  }
}

/// After all else that tells why IDs are not drawn.
void try_changes(StoreHealth& health, Connection& connection, Clock& clock, milliseconds timeout) {
  const bool is_told = health.is_standby || health.is_read_only || !health.missing_rights.empty() ||
                       !health.locks.empty() || !health.no_room.empty() || health.commits_wait ||
                       health.transactions_left.value_or(1) <= 0 || !health.guard_remedy.empty() ||
                       store::any_stops_grants(health.table_faults);
  if (is_told || health.schema_version != health.newest_schema_version) return;
  if (!health.guard || health.guard->tags_ahead == 0)
    health.refused_grant = store::try_grants(connection, timeout);
  const bool leases_wait = health.guard && (!health.guard->leases_from ||
                                            *health.guard->leases_from > health.time.value_or(UnixTime{}));
  if (!leases_wait && connection.usable())
    health.refused_lease = store::try_lease(connection, store::host_time(clock), timeout);
}

}  // namespace

std::string how_to_end(const StoreLock& lock) {
  if (!lock.prepared.empty()) {
    return fmt::format(
        "end it with ROLLBACK PREPARED {0}, or with COMMIT PREPARED {0} if the rest of its work is "
        "committed"_hint,
        lock.prepared);
  }
  return fmt::format("let its transaction end, or end it with 'SELECT pg_terminate_backend({})'"_hint,
                     lock.process);
}

StoreHealth Store::health() {
  // Each look has the whole time: of a store that is slow there is most to say.
  return impl_->attempt(store::IfMissing::fail, false, [&](Connection& connection, milliseconds left) {
    StoreHealth found;
    look_at_tables(found, connection, impl_->clock(), left);
    try {
      StoreHealth health = impl_->inspect(connection, left);
      if (!found.locks.empty()) health.locks = found.locks;
      health.newest_schema_version = impl_->driver().migrations().back().number;
      compare_clocks(health, connection, impl_->clock(), left);
      look_at_schema(health, connection, left);
      look_at_events(health, impl_->driver().migrations(), connection, left);
      look_at_functions(health, connection, left);
      look_at_rows(health, connection, impl_->clock(), left);
      try_changes(health, connection, impl_->clock(), left);
      return health;
    } catch (const Error& error) {
      if (error.sqlstate() != store::sqlstate::timed_out || found.locks.empty()) throw;
      throw kept_waiting(error, found.locks.front());
    }
  });
}

}  // namespace leaf
