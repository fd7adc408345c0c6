#include "store/migrations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "leaf/error.hpp"
#include "leaf/version.hpp"
#include "store/foreign_objects.hpp"
#include "store/own_functions.hpp"
#include "store/table_faults.hpp"
#include "store/triggers.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf::store {

Transaction::Transaction(Connection& connection, std::chrono::milliseconds timeout)
    : connection_(connection), deadline_(std::chrono::steady_clock::now() + timeout) {
  try {
    connection_.run_script(connection_.sql().begin_migration, timeout);
    connection_.find_tables(time_left());
  } catch (const Error&) {
    roll_back();  // it may have begun, and then failed to get the lock
    throw;
  }
}

Transaction::~Transaction() {
  if (!committed_) roll_back();
}

std::chrono::milliseconds Transaction::time_left() const {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
  if (left > std::chrono::milliseconds::zero()) return left;
  throw Error(ErrorCode::unavailable, "the store did not get done in time, and nothing was changed",
              advice("try again, or allow more time{}"_hint, Remedy{Remedy::Kind::allow_more_time}),
              sqlstate::timed_out);
}

void Transaction::commit() {
  connection_.commit(time_left());
  committed_ = true;
}

void Transaction::confirm() {
  if (const char* const statement = connection_.sql().confirm)
    connection_.execute(statement, {}, time_left());
  commit();
}

void Transaction::roll_back() noexcept {
  constexpr std::chrono::milliseconds patience{500};  // the timeout may be over
  if (!connection_.usable()) return;
  try {
    connection_.run_script("ROLLBACK", patience);
  } catch (const std::exception&) {
    // The database rolls back by itself when the connection closes.
  }
}

namespace {

constexpr std::string_view events_name = "events";

void replace_all(std::string& text, std::string_view part, std::string_view by) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + by.size()))
    text.replace(at, part.size(), by);
}

/// The part of the migration that makes the log, so that it takes what is there.
std::string events_again(const Sql& sql, const Migration& migration) {
  std::string text = migration.sql.substr(migration.sql.find("CREATE TABLE "));
  replace_all(text, "CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ");
  replace_all(text, "CREATE FUNCTION ", "CREATE OR REPLACE FUNCTION ");
  return sql.drop_event_triggers + text;
}

const Migration& events_of(std::span<const Migration> migrations) {
  return *std::ranges::find(migrations, events_name, &Migration::name);
}

/// What has the triggers run again that somebody has turned off or dropped; empty if all do.
std::string triggers_again(Connection& connection, std::span<const Migration> migrations, int version,
                           std::chrono::milliseconds timeout) {
  std::string text;
  for (const StoppedTrigger& trigger : stopped_triggers(connection, migrations, version, timeout))
    text += trigger.again + "\n";
  return text;
}

/// What a program has to know once these are applied.
int minimum_reader(std::span<const Migration> applied) {
  return std::ranges::max(applied, {}, &Migration::minimum_reader).minimum_reader;
}

std::string newer(const Schema& schema, std::span<const Migration> migrations) {
  return fmt::format("the store's schema has version {}, newer than this program's {}", schema.version,
                     migrations.back().number);
}

}  // namespace

Error lost_meta_row() {
  return {ErrorCode::refused, "table 'leaf_meta' has lost its row: the other tables may have lost some too",
          "restore the store from a backup as leafctl-operations(7) says; a new one would repeat IDs"_hint};
}

Error several_rows() {
  return {ErrorCode::refused, "a table of the store has several rows where its key allows one",
          advice("find out what is missing{}"_hint, Remedy{Remedy::Kind::check_store})};
}

Schema read_schema(Connection& connection, std::chrono::milliseconds timeout) {
  if (!connection.find_tables(timeout)) return {};
  const auto rows = connection.execute(connection.sql().schema, {}, timeout);
  if (connection.sql().table_faults != nullptr && (rows.size() != 1 || rows[0].integer_or_null(5) != 1))
    require_no_table_fault(connection, timeout);
  if (rows.empty()) throw lost_meta_row();
  const Row& row = rows[0];
  const std::int64_t version = row.integer(0);
  return {.version = static_cast<int>(version),
          .minimum_reader = static_cast<int>(row.integer_or_null(3).value_or(version)),
          .minimum_release = row.text(4),
          .deployment = row.text(1),
          .logged = row.integer_or_null(2).value_or(0) == 1};
}

void require_current(const Schema& schema, std::span<const Migration> migrations) {
  const int newest = migrations.back().number;
  if (schema.version == 0) {
    throw Error(ErrorCode::usage, "the store has no tables yet",
                advice("create them{}"_hint, Remedy{Remedy::Kind::create_store}));
  }
  if (schema.version < newest) {
    throw Error(
        ErrorCode::usage,
        fmt::format("the store's schema has version {}, this program needs {}", schema.version, newest),
        advice("upgrade it{}"_hint, Remedy{Remedy::Kind::upgrade_store}));
  }
  pending(schema, migrations);
  if (!schema.logged) {
    throw Error(ErrorCode::refused, "a table of the store is unlogged: a crash of the server would empty it",
                unlogged_advice());
  }
}

void require_newest(const Schema& schema, std::span<const Migration> migrations) {
  if (schema.version <= migrations.back().number) return;
  throw Error(ErrorCode::usage, newer(schema, migrations),
              "do this with the release that upgraded the store, or a later one"_hint);
}

std::vector<Migration> pending(const Schema& schema, std::span<const Migration> migrations) {
  const int newest = migrations.back().number;
  if (schema.minimum_reader > newest) {
    throw Error(ErrorCode::usage, newer(schema, migrations),
                fmt::format("use {}; leafctl-operations(7) describes the way back"_hint,
                            schema.minimum_release.empty()
                                ? "a newer release"
                                : fmt::format("release {} or later", schema.minimum_release)));
  }
  std::vector<Migration> result;
  for (const Migration& migration : migrations) {
    if (migration.number > schema.version) result.push_back(migration);
  }
  return result;
}

bool has_events(int version, std::span<const Migration> migrations) {
  return version >= events_of(migrations).number;
}

std::map<std::string, std::string> event_triggers(std::span<const Migration> migrations) {
  return triggers_of({&events_of(migrations), 1});
}

std::map<std::string, std::string> event_functions(std::span<const Migration> migrations) {
  return functions_of({&events_of(migrations), 1});
}

std::vector<Migration> wanted(Connection& connection, const Schema& schema,
                              std::span<const Migration> migrations, std::chrono::milliseconds timeout) {
  auto result = pending(schema, migrations);
  // That of a later release may be another one.
  if (!has_events(schema.version, migrations) || schema.version > migrations.back().number) return result;
  if (!connection.execute(connection.sql().missing_events, {}, timeout).empty())
    result.insert(result.begin(), {0, "event_log", events_again(connection.sql(), events_of(migrations)), 0});
  if (const std::string triggers = triggers_again(connection, migrations, schema.version, timeout);
      !triggers.empty())
    result.insert(result.begin(), {0, "triggers", triggers, 0});
  return result;
}

std::vector<Migration> migrate(Connection& connection, std::span<const Migration> migrations,
                               const std::vector<ForeignObject>& adopted, std::chrono::milliseconds timeout,
                               const std::function<void(const Transaction&)>& furnish) {
  Transaction transaction(connection, timeout);
  adopt(connection, adopted, transaction.time_left());
  const Schema before = read_schema(connection, transaction.time_left());
  auto missing = wanted(connection, before, migrations, transaction.time_left());
  for (const Migration& migration : missing) {
    connection.run_script(connection.placed(migration.sql), transaction.time_left());
    connection.find_tables(transaction.time_left());  // the first one makes them
    if (migration.number == 0) continue;
    const Value version = static_cast<std::int64_t>(migration.number);
    connection.execute(connection.sql().set_schema_version, {&version, 1}, transaction.time_left());
  }
  if (!missing.empty()) {
    const Value reader[] = {static_cast<std::int64_t>(minimum_reader(missing)), std::string(version())};
    connection.execute(connection.sql().raise_minimum_reader, reader, transaction.time_left());
  }
  if (before.version == 0 && furnish) furnish(transaction);
  transaction.confirm();
  return missing;
}

std::string script(const Connection& connection, std::span<const Migration> pending,
                   const std::vector<ForeignObject>& adopted) {
  if (pending.empty() && adopted.empty()) return {};
  std::string text = fmt::format("{};\n{}{}", connection.sql().begin_migration,
                                 connection.sql().migration_settings, adoption_script(connection, adopted));
  for (const Migration& migration : pending) {
    if (migration.number == 0) {
      text += fmt::format("\n-- {}\n{}", migration.name, connection.placed(migration.sql));
      continue;
    }
    text += fmt::format("\n-- migration {}: {}\n{}\nUPDATE {}leaf_meta SET schema_version = {};\n",
                        migration.number, migration.name, connection.placed(migration.sql),
                        connection.schema(), migration.number);
  }
  if (!pending.empty() && minimum_reader(pending) > 0) {
    text += fmt::format(
        "\n"
        "-- Programs that know less than migration {0} are refused from now on.\n"
        "UPDATE {2}leaf_meta SET min_reader = {0}, min_release = '{1}' WHERE min_reader < {0};\n",
        minimum_reader(pending), version(), connection.schema());
  }
  return text + "\nCOMMIT;\n";
}

}  // namespace leaf::store
