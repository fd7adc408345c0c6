#include "store/migrations.hpp"

#include <fmt/format.h>

#include "leaf/error.hpp"
#include "store/foreign_objects.hpp"

namespace leaf::store {

Transaction::Transaction(Connection& connection, std::chrono::milliseconds timeout)
    : connection_(connection), timeout_(timeout) {
  try {
    connection_.run_script(connection_.sql().begin_migration, timeout_);
  } catch (const Error&) {
    roll_back();  // it may have begun, and then failed to get the lock
    throw;
  }
}

Transaction::~Transaction() {
  if (!committed_) roll_back();
}

void Transaction::commit() {
  connection_.run_script("COMMIT", timeout_);
  committed_ = true;
}

void Transaction::roll_back() noexcept {
  if (!connection_.usable()) return;
  try {
    connection_.run_script("ROLLBACK", timeout_);
  } catch (const Error&) {
    // The database rolls back by itself when the connection closes.
  }
}

Error lost_meta_row() {
  return {ErrorCode::refused, "table 'leaf_meta' has lost its row: the other tables may have lost some too",
          "put the store back from a backup; one that is made anew repeats IDs"};
}

Schema read_schema(Connection& connection, std::chrono::milliseconds timeout) {
  if (!connection.find_tables(timeout)) return {};
  const auto rows = connection.execute(connection.sql().schema, {}, timeout);
  if (rows.empty()) throw lost_meta_row();
  const Row& row = rows[0];
  return {static_cast<int>(row.integer(0)), row.text(1), row.integer_or_null(2).value_or(0) == 1};
}

void require_current(const Schema& schema, std::span<const Migration> migrations) {
  const int newest = migrations.back().number;
  if (schema.version == 0) {
    throw Error(ErrorCode::usage, "the store has no tables yet", "create them with 'leafctl init-db'");
  }
  if (schema.version < newest) {
    throw Error(
        ErrorCode::usage,
        fmt::format("the store's schema has version {}, this program needs {}", schema.version, newest),
        "upgrade it with 'leafctl init-db'");
  }
  pending(schema.version, migrations);
  if (!schema.logged) {
    throw Error(ErrorCode::refused, "a table of the store is unlogged: a crash of the server would empty it",
                "run 'ALTER TABLE ... SET LOGGED' on leaf_alloc, leaf_worker and leaf_meta");
  }
}

std::vector<Migration> pending(int version, std::span<const Migration> migrations) {
  if (version > migrations.back().number) {
    throw Error(ErrorCode::usage,
                fmt::format("the store's schema has version {}, newer than this program's {}", version,
                            migrations.back().number),
                "use a newer leafctl");
  }
  std::vector<Migration> result;
  for (const Migration& migration : migrations) {
    if (migration.number > version) result.push_back(migration);
  }
  return result;
}

std::vector<Migration> migrate(Connection& connection, std::span<const Migration> migrations,
                               const std::vector<ForeignObject>& adopted, std::chrono::milliseconds timeout) {
  Transaction transaction(connection, timeout);
  connection.find_tables(timeout);
  adopt(connection, adopted, timeout);
  auto missing = pending(read_schema(connection, timeout).version, migrations);
  for (const Migration& migration : missing) {
    connection.run_script(connection.placed(migration.sql), timeout);
    connection.find_tables(timeout);  // the first one makes them
    const Value version = static_cast<std::int64_t>(migration.number);
    connection.execute(connection.sql().set_schema_version, {&version, 1}, timeout);
  }
  transaction.commit();
  return missing;
}

std::string script(const Connection& connection, std::span<const Migration> pending,
                   const std::vector<ForeignObject>& adopted) {
  if (pending.empty() && adopted.empty()) return {};
  std::string text = fmt::format("{};\n{}{}", connection.sql().begin_migration,
                                 connection.sql().migration_settings, adoption_script(connection, adopted));
  for (const Migration& migration : pending) {
    text += fmt::format("\n-- migration {}: {}\n{}\nUPDATE {}leaf_meta SET schema_version = {};\n",
                        migration.number, migration.name, connection.placed(migration.sql),
                        connection.schema(), migration.number);
  }
  return text + "\nCOMMIT;\n";
}

}  // namespace leaf::store
