#include "store/connection.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>
#include <utility>

#include "leaf/error.hpp"
#include "leaf/health.hpp"
#include "leaf/version.hpp"
#include "store/fork_guard.hpp"
#include "store/sqlite/errors.hpp"
#include "store/sqlite/file.hpp"
#include "store/sqlite/health.hpp"
#include "store/sqlite/migrations.hpp"
#include "store/sqlite/place.hpp"
#include "store/sqlite/sql.hpp"
#include "store/sqlite/sql_functions.hpp"
#include "text/hint.hpp"

namespace leaf::store::sqlite {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t application_id = 0x4C454146;  // "LEAF"; the first migration writes it

struct CloseDatabase {
  void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using PreparedStatement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

class SqliteConnection final : public Connection {
 public:
  SqliteConnection(std::string path, IfMissing if_missing, milliseconds timeout)
      : path_(std::move(path)), if_missing_(if_missing), deadline_(steady_clock::now() + timeout) {
    std::error_code ignored;
    absolute_path_ = std::filesystem::absolute(path_, ignored).string();
    try {
      require_usable(place());
      open();
      require_own_file();
      // With a rollback journal the one file is the whole store whenever nobody writes, so that a copy of it
      // is complete. TRUNCATE and EXTRA: a commit that was acknowledged stays one when the power fails.
      use_rollback_journal();
      run("PRAGMA synchronous = EXTRA");
      // A large import would need a folder for temporary files, which may lie on a full or read-only disk.
      run("PRAGMA temp_store = MEMORY");
    } catch (...) {
      close();
      throw;
    }
  }

  ~SqliteConnection() override { close(); }
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  const Sql& sql() const noexcept override { return sqlite::sql; }
  std::string copy() const override { return file_ ? file_->copy() : std::string(); }

  std::vector<Row> execute(const char* text, std::span<const Value> parameters,
                           milliseconds timeout) override {
    deadline_ = steady_clock::now() + timeout;
    return run(text, parameters);
  }

  std::vector<Row> execute_above(const char* text, std::span<const Value> parameters,
                                 const std::function<std::int64_t()>& floor, milliseconds timeout) override {
    return functions_.above(floor, [&] { return execute(text, parameters, timeout); });
  }

  std::vector<Row> try_out(const char* text, std::span<const Value> parameters,
                           milliseconds timeout) override {
    deadline_ = steady_clock::now() + timeout;
    run("BEGIN IMMEDIATE");
    const auto take_back = [&] {
      if (is_in_transaction()) run("ROLLBACK");
    };
    try {
      auto rows = run(text, parameters);
      take_back();
      return rows;
    } catch (const Error&) {
      take_back();
      throw;
    }
  }

  std::vector<Row> run_script(const std::string& script, milliseconds timeout) override {
    deadline_ = steady_clock::now() + timeout;
    for (const char* rest = script.c_str(); *rest != '\0';) run(rest, {}, &rest);
    return {};
  }

  bool usable() const noexcept override { return usable_; }

 private:
  /// A call into SQLite, and what follows of its transaction: no fork() meanwhile.
  class Call {
   public:
    explicit Call(SqliteConnection& connection) : connection_(connection) {
      if (!connection_.hold_) connection_.hold_.emplace();
    }
    ~Call() {
      if (!connection_.is_in_transaction()) connection_.hold_.reset();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    SqliteConnection& connection_;
  };

  bool is_in_transaction() const { return db_ && sqlite3_get_autocommit(db_.get()) == 0; }

  /// SQLite asks here again and again while another process holds the lock.
  static int wait_for_lock(void* self, int) {
    auto& connection = *static_cast<SqliteConnection*>(self);
    if (steady_clock::now() >= connection.deadline_) return 0;
    // A statement alone can be begun again; a transaction cannot, and is not long.
    if (fork_guard::is_wanted() && !connection.is_in_transaction()) {
      connection.made_way_ = true;
      return 0;
    }
    // Random, so that of many who wait none is always the one who comes late.
    thread_local std::minstd_rand random(std::random_device{}());
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::uniform_int_distribution<int>(100, 3000)(random)));
    return 1;
  }

  /// SQLite asks here now and then in the midst of a statement. A transaction that takes too long keeps
  /// others out.
  static int ends_late(void* self) {
    const auto& connection = *static_cast<SqliteConnection*>(self);
    return connection.is_in_transaction() && steady_clock::now() >= connection.deadline_ ? 1 : 0;
  }

  /// SQLite calls this after each commit to a WAL. A connection follows whoever switches the file's mode,
  /// even if it was opened before.
  static int note_wal(void* self, sqlite3*, const char*, int) {
    static_cast<SqliteConnection*>(self)->wrote_wal_ = true;
    return SQLITE_OK;
  }

  Place place() const { return {.shown = path_, .path = absolute_path_}; }

  /// What lies there now, if this is still the file that was.
  FileLook look(const std::string& path) {
    if (const auto found = look_at(path)) return *found;
    // A filter of system calls says this, and no file system.
    if (errno == EPERM) {
      throw Error(
          ErrorCode::usage,
          fmt::format("store '{}' cannot be looked at: this process may not call statx(2)", path_),
          "allow statx in the seccomp profile of its container: engines from before 2018 refuse it"_hint);
    }
    throw exchanged();
  }

  /// All connections of a program share what SQLite guards by mutexes, unless the program has turned those
  /// off: then `db` has none either.
  static void require_mutexes(sqlite3* db) {
    if (sqlite3_db_mutex(db) != nullptr) return;
    throw Error(ErrorCode::refused,
                "this program has turned off SQLite's mutexes: its threads could be granted the same IDs",
                "do not set SQLITE_CONFIG_SINGLETHREAD in that program, or use PostgreSQL"_hint);
  }

  void open() {
    const Call call(*this);
    const bool pretend = if_missing_ == IfMissing::assume_empty && !std::filesystem::exists(path_);
    // In a program that has its connections share one cache, each would stay with the file that another has
    // open.
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_FULLMUTEX |
                      SQLITE_OPEN_EXRESCODE | (if_missing_ == IfMissing::create ? SQLITE_OPEN_CREATE : 0);
    sqlite3* db = nullptr;
    // By name: a program may have made another VFS the default, such as "unix-none", which locks nothing.
    const int result = sqlite3_open_v2(pretend ? ":memory:" : path_.c_str(), &db, flags, "unix");
    db_.reset(db);
    if (result != SQLITE_OK) throw error(result);
    require_mutexes(db);
    if (const int added = functions_.add_to(db); added != SQLITE_OK) throw error(added);
    sqlite3_busy_handler(db, &SqliteConnection::wait_for_lock, this);
    constexpr int steps = 10'000;  // of SQLite's machine: a millisecond or so
    sqlite3_progress_handler(db, steps, &SqliteConnection::ends_late, this);
    sqlite3_wal_hook(db, &SqliteConnection::note_wal, this);
    if (pretend) return;
    // By SQLite's own name of it: a link on the way may have been turned since.
    file_ = look(sqlite3_db_filename(db, "main")).identity;
    if (was_moved()) throw exchanged();
    journal_ = std::string(sqlite3_db_filename(db, "main")) + "-journal";
  }

  void close() noexcept {
    if (!hold_) hold_.emplace();
    db_.reset();
    hold_.reset();
  }

  /// Whether SQLite's own name of the file, to which it adds the journal's, leads elsewhere.
  bool was_moved() const {
    int moved = 0;
    return sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
  }

  /// Throws Error unless the path still leads to the open file, and no other way does.
  void require_same_file() {
    if (!file_) return;
    const FileLook now = look(absolute_path_);
    if (now.identity != *file_ || was_moved()) throw exchanged();
    require_one_way(place(), now);
  }

  Error exchanged() {
    usable_ = false;
    return {ErrorCode::unavailable, fmt::format("the file of store '{}' was replaced", path_),
            "try again"_hint, sqlstate::connection_lost};
  }

  Error switched() {
    usable_ = false;
    return {ErrorCode::unavailable, fmt::format("store '{}' was switched to WAL mode", path_),
            "try again"_hint, sqlstate::connection_lost};
  }

  void require_own_file() {
    const bool empty = only_row(run("SELECT count(*) FROM sqlite_schema")).integer(0) == 0;
    const std::int64_t owner = empty ? application_id : only_row(run("PRAGMA application_id")).integer(0);
    if (owner == application_id || (owner == 0 && has_own_tables())) return;
    throw Error(ErrorCode::usage, fmt::format("store '{}' is a database of another program", path_),
                restore_or_name_another_file());
  }

  /// What SQLite's shell writes as text (`.dump`, `.clone`) has them, but not the number of the application.
  bool has_own_tables() {
    constexpr auto* count =
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('leaf_meta', 'leaf_alloc')";
    return only_row(run(count)).integer(0) == 2;
  }

  void use_rollback_journal() {
    try {
      run("PRAGMA journal_mode = TRUNCATE");
    } catch (const Error& error) {
      if (error.sqlstate() != sqlstate::timed_out || !is_in_wal_mode()) throw;
      throw Error(ErrorCode::unavailable,
                  fmt::format("store '{}' is in WAL mode, held open by another program", path_),
                  "close it in that program, then try again"_hint, sqlstate::timed_out);
    }
  }

  bool is_in_wal_mode() { return only_row(run("PRAGMA journal_mode")).text(0) == "wal"; }

  /// Runs the first statement of `text`; where what follows begins goes into `rest`.
  std::vector<Row> run(const char* text, std::span<const Value> parameters = {},
                       const char** rest = nullptr) {
    for (;;) {
      const Call call(*this);
      made_way_ = false;
      try {
        return run_once(text, parameters, rest);
      } catch (const Error&) {
        if (!made_way_) throw;
      }
    }
  }

  std::vector<Row> run_once(const char* text, std::span<const Value> parameters, const char** rest) {
    const bool is_alone = !is_in_transaction();
    if (is_alone) {
      require_same_file();
      // SQLite opens its journal anew for each transaction; a look at its name costs little beside that.
      if (file_) require_free_journal(place(), journal_);
    }
    sqlite3_stmt* prepared = nullptr;
    const int compiled = sqlite3_prepare_v2(db_.get(), text, -1, &prepared, rest);
    const PreparedStatement statement(prepared);
    if (compiled != SQLITE_OK) throw error(compiled);
    if (!statement) return {};  // white space, or a comment
    bind(statement.get(), parameters);

    std::vector<Row> rows;
    int step = sqlite3_step(statement.get());
    for (; step == SQLITE_ROW; step = sqlite3_step(statement.get())) rows.push_back(row_of(statement.get()));
    // Only SQLITE_DONE says that the statement's own transaction was committed.
    if (step != SQLITE_DONE) throw error(step);
    require_stored(statement.get(), rows);
    // A copy of the file lacks it: it is given up, and the next connection switches the mode back.
    if (std::exchange(wrote_wal_, false)) throw switched();
    // What a file that was taken away meanwhile has granted, the one in its place may grant again.
    if (is_alone || !is_in_transaction()) require_same_file();
    return rows;
  }

  /// Of a view, SQLite returns rows as if they had been changed.
  void require_stored(sqlite3_stmt* statement, const std::vector<Row>& rows) {
    if (rows.empty() || sqlite3_changes(db_.get()) != 0) return;
    if (sqlite3_stmt_readonly(statement) != 0 || strstr(sqlite3_sql(statement), "RETURNING") == nullptr)
      return;
    throw Error(
        ErrorCode::refused,
        fmt::format("store '{}' keeps nothing of what is written: a view is in the place of a table", path_),
        how_to_undo({TableFault()}));
  }

  void bind(sqlite3_stmt* statement, std::span<const Value> parameters) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const int index = sqlite3_bind_parameter_index(statement, fmt::format("${}", i + 1).c_str());
      int result = SQLITE_OK;
      if (const auto* number = std::get_if<std::int64_t>(&parameters[i])) {
        result = sqlite3_bind_int64(statement, index, *number);
      } else if (const auto* text = std::get_if<std::string>(&parameters[i])) {
        result =
            sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
      }
      if (result != SQLITE_OK) throw error(result);
    }
  }

  static Row row_of(sqlite3_stmt* statement) {
    std::vector<std::optional<std::string>> columns;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      if (text == nullptr) {
        columns.emplace_back();
      } else {
        columns.emplace_back(std::in_place, text,
                             static_cast<std::size_t>(sqlite3_column_bytes(statement, i)));
      }
    }
    return Row(std::move(columns));
  }

  /// The error for a result code, after which the connection may be of no more use; `db_` still holds its
  /// message.
  Error error(int result) {
    if (result == SQLITE_READONLY_DBMOVED) return exchanged();
    // A file that was opened without the right to write stays so, also when the right comes.
    if ((result & 0xFF) != SQLITE_BUSY && (result & 0xFF) != SQLITE_CONSTRAINT) usable_ = false;
    return error_of(result, db_.get(),
                    {.path = path_, .absolute_path = absolute_path_, .if_missing = if_missing_});
  }

  const std::string path_;  ///< as it was given
  std::string absolute_path_;
  const IfMissing if_missing_;
  steady_clock::time_point deadline_;
  std::optional<fork_guard::Hold> hold_;
  SqlFunctions functions_;
  Database db_;
  std::optional<FileIdentity> file_;  ///< the one that is open; none for what only pretends to be one
  std::string journal_;               ///< beside it, if there is one
  bool usable_ = true;
  bool wrote_wal_ = false;
  bool made_way_ = false;  ///< the last statement gave up, so that fork() could go on
};

std::unique_ptr<Connection> connect(const std::string& path, const std::string& /*program*/,
                                    IfMissing if_missing, milliseconds timeout) {
  return std::make_unique<SqliteConnection>(path, if_missing, timeout);
}

}  // namespace

}  // namespace leaf::store::sqlite

extern "C" LEAF_EXPORT const leaf::store::Driver leaf_store_driver;
const leaf::store::Driver leaf_store_driver{
    .built_with = LEAF_VERSION,
    .migrations = &leaf::store::sqlite::migrations,
    .connect = &leaf::store::sqlite::connect,
    .inspect = &leaf::store::sqlite::inspect,
    .before_fork = &leaf::store::fork_guard::before_fork,
    .after_fork = &leaf::store::fork_guard::after_fork,
};
