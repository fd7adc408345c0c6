#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "leaf/detail/query_lines.hpp"
#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "store/sql.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf::store {

/// A bound parameter: NULL, a number or text.
using Value = std::variant<std::monostate, std::int64_t, std::string>;

class Connection;

/// One row of a result, every column as the database prints it.
class Row {
 public:
  explicit Row(std::vector<std::optional<std::string>> columns) : columns_(std::move(columns)) {}

  bool is_null(std::size_t column) const { return !at(column); }
  /// Throws Error (failed) if the column is NULL or no number.
  std::int64_t integer(std::size_t column) const;
  std::optional<std::int64_t> integer_or_null(std::size_t column) const;
  /// NULL reads as the empty text.
  std::string text(std::size_t column) const { return at(column).value_or(""); }

 private:
  /// Throws Error (failed) if there is none.
  const std::optional<std::string>& at(std::size_t column) const;

  std::vector<std::optional<std::string>> columns_;
};

/// The row of a result that always has one. Throws Error (failed) if it is not there.
Row only_row(std::vector<Row> rows);

/// The store that `row` names in two columns from `first` on: the deployment, and the server with its
/// tables, or NULL. Where the row grants, '@' and when the server was started may follow.
StoreIdentity identity_of(const Row& row, std::size_t first, const Connection& connection);
/// What follows there, the '@' included; empty: nothing does.
std::string run_of(const Row& row, std::size_t first);

/// Throws Error (refused) unless `column` says that the commit which granted the row will last: 1, it will;
/// 0, by the settings it may not; 2, the table is unlogged; 3, the table lacks the guard that belongs to it;
/// 4, triggers do not run; 5, no standby is waited for; 6, a subscription writes into the table;
/// 7, a trigger puts the old row back.
void require_durable(const Row& row, std::size_t column);
/// What to do where a crash of the server would lose commits.
Advice lost_commits_advice();

/// What the retry policy looks at besides a database's own SQLSTATEs; drivers set these themselves.
namespace sqlstate {
inline constexpr const char* warning = "01000";          ///< a WARNING came with the result
inline constexpr const char* connection_lost = "08006";  ///< an open connection broke: outcome unknown
inline constexpr const char* missing_database = "3D000";
inline constexpr const char* unable_to_connect = "08001";  ///< no connection came about
inline constexpr const char* not_yet =
    "57P03";  ///< nobody listens yet, or the server is about to start or stop
inline constexpr const char* too_many_connections = "53300";
inline constexpr const char* read_only = "25006";  ///< a standby, or a read-only file
inline constexpr const char* insufficient_privilege = "42501";
inline constexpr const char* timed_out = "57014";      ///< the deadline passed, or the server cancelled
inline constexpr const char* idle_too_long = "25P03";  ///< in a transaction, for the server's taste
inline constexpr const char* missing_table = "42P01";
inline constexpr const char* missing_schema = "3F000";
inline constexpr const char* not_durable = "LF002";  ///< a commit might not last: nothing was written
}  // namespace sqlstate

/// One open connection to a database. Not thread safe. Never prints, and no call depends on session state
/// that an earlier one left.
class Connection {
 public:
  virtual ~Connection() = default;

  /// This database's statements.
  virtual const Sql& sql() const noexcept = 0;

  /// Tells which copy of a deployment this is, where no statement does: the file that was opened.
  virtual std::string copy() const { return {}; }

  /// Looks where the store's tables lie, once: every later statement means those. False: there are none.
  virtual bool find_tables(std::chrono::milliseconds timeout) {
    return only_row(execute(sql().schema_exists, {}, timeout)).integer(0) != 0;
  }
  /// What leads the names of those tables in a script, also where they are still to be made; empty where
  /// nothing has to.
  virtual std::string schema() const { return {}; }
  /// A migration as it is run there.
  virtual std::string placed(const std::string& migration) const { return migration; }

  /// Runs one statement in a transaction of its own and returns its rows once the database has acknowledged a
  /// complete and clean commit. Throws Error with an sqlstate otherwise; after anything but a refusal by the
  /// database itself the outcome is unknown.
  virtual std::vector<Row> execute(const char* statement, std::span<const Value> parameters,
                                   std::chrono::milliseconds timeout) = 0;

  /// As execute(), of a statement whose last parameter is what `floor()` was before the call. A database that
  /// takes its locks in this process asks again once it has them: what others were granted while this one
  /// waited counts too.
  virtual std::vector<Row> execute_above(const char* statement, std::span<const Value> parameters,
                                         const std::function<std::int64_t()>& /*floor*/,
                                         std::chrono::milliseconds timeout) {
    return execute(statement, parameters, timeout);
  }

  /// What execute() would return or throw, of a statement whose changes are taken back at once. Nobody sees
  /// them, and a server takes them back even if this process is stopped meanwhile. The commit is not tried.
  virtual std::vector<Row> try_out(const char* statement, std::span<const Value> parameters,
                                   std::chrono::milliseconds timeout) = 0;

  /// Runs several statements, parted by semicolons, without parameters, and returns their rows, if the
  /// database has any in scripts; the transaction is the script's business.
  virtual std::vector<Row> run_script(const std::string& script, std::chrono::milliseconds timeout) = 0;

  /// Ends the transaction that a script began. Throws Error as execute() does: what it changed may not last.
  virtual void commit(std::chrono::milliseconds timeout) { run_script("COMMIT", timeout); }

  /// False once the connection broke or cannot be trusted any more; it has to be replaced then.
  virtual bool usable() const noexcept = 0;
};

/// What mends a log of changes that is gone.
inline Advice make_events_anew() {
  return advice("recreate the log of changes{}"_hint, Remedy{Remedy::Kind::upgrade_store});
}
/// What mends a table that a crash of the server would empty.
inline Advice unlogged_advice() {
  return advice("find it{}, and make it durable with ALTER TABLE ... SET LOGGED"_hint,
                Remedy{Remedy::Kind::check_store});
}

/// What is done about a table that follows another server's.
inline Advice subscription_advice() {
  return advice(
      "find it{}; once nothing is drawn from the server that it follows, drop it with DROP SUBSCRIPTION; "
      "leafctl-operations(7) says how to go on"_hint,
      Remedy{Remedy::Kind::check_store});
}

/// For a row that lacks what was just written to it.
Error put_back();

/// `error` of what only the owner of the tables may do, as it is told to another role.
Error for_owner(const Error& error);

/// What is done about a store that does not exist yet.
enum class IfMissing {
  fail,
  create,
  assume_empty,  ///< look at what would be created, and create nothing
};

/// Everything that a driver module shows: what its symbol `leaf_store_driver` points to.
struct Driver {
  const char* built_with;  ///< the version of libleaf; must be that of the one that loads it
  /// Made when they are first asked for: who loads a module would not survive where there is no memory.
  const std::vector<Migration>& (*migrations)();
  /// Opens `url` (for SQLite: the path) in the name of `program`. Throws Error.
  std::unique_ptr<Connection> (*connect)(const std::string& url, const std::string& program, IfMissing,
                                         std::chrono::milliseconds timeout);
  /// Fills in what only this kind of store knows of its health; `url` is what connect() was given.
  StoreHealth (*inspect)(Connection&, const std::string& url, std::chrono::milliseconds timeout);
  /// The rows of a query of the user's own; see detail::query_lines(). Null: there are no queries.
  std::unique_ptr<detail::QueryLines> (*query_lines)(const std::string& url, const std::string& query,
                                                     const std::string& program,
                                                     std::chrono::milliseconds timeout) = nullptr;
  /// Called around each fork() of the process, so that the child finds no lock of the driver held; may be
  /// null.
  void (*before_fork)() noexcept = nullptr;
  void (*after_fork)(bool is_child) noexcept = nullptr;
};

}  // namespace leaf::store
