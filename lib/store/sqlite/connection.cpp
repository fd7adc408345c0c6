#include "store/connection.hpp"

#include <fmt/format.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>
#include <thread>

#include "leaf/error.hpp"
#include "leaf/version.hpp"
#include "store/sqlite/health.hpp"
#include "store/sqlite/migrations.hpp"
#include "store/sqlite/sql.hpp"

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

/// Another one for each file, also where an inode is used again. Empty if there is no such file.
std::string name_of_file(const std::string& path) {
  struct statx file {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &file) != 0) return {};
  return fmt::format("{}:{}/{}/{}.{:09}", file.stx_dev_major, file.stx_dev_minor, file.stx_ino,
                     file.stx_btime.tv_sec, file.stx_btime.tv_nsec);
}

class SqliteConnection final : public Connection {
 public:
  SqliteConnection(std::string path, IfMissing if_missing, milliseconds timeout)
      : path_(std::move(path)), if_missing_(if_missing), deadline_(steady_clock::now() + timeout) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                      (if_missing == IfMissing::create ? SQLITE_OPEN_CREATE : 0);
    sqlite3* db = nullptr;
    const bool pretend = if_missing == IfMissing::assume_empty && !std::filesystem::exists(path_);
    const int result = sqlite3_open_v2(pretend ? ":memory:" : path_.c_str(), &db, flags, nullptr);
    db_.reset(db);
    if (result != SQLITE_OK) throw error(result);
    copy_ = name_of_file(path_);
    sqlite3_busy_handler(db, &SqliteConnection::wait_for_lock, this);
    require_own_file();
    // With a rollback journal the one file is the whole store whenever nobody writes, so that a copy of it is
    // complete. TRUNCATE and EXTRA: a commit that was acknowledged stays one when the power fails.
    run("PRAGMA journal_mode = TRUNCATE");
    run("PRAGMA synchronous = EXTRA");
  }

  const Sql& sql() const noexcept override { return sqlite::sql; }
  std::string copy() const override { return copy_; }

  std::vector<Row> execute(const char* text, std::span<const Value> parameters,
                           milliseconds timeout) override {
    deadline_ = steady_clock::now() + timeout;
    return run(text, parameters);
  }

  void run_script(const std::string& script, milliseconds timeout) override {
    deadline_ = steady_clock::now() + timeout;
    const int result = sqlite3_exec(db_.get(), script.c_str(), nullptr, nullptr, nullptr);
    if (result != SQLITE_OK) throw error(result);
  }

  bool usable() const noexcept override { return true; }

 private:
  /// SQLite asks here again and again while another process holds the lock.
  static int wait_for_lock(void* self, int) {
    if (steady_clock::now() >= static_cast<SqliteConnection*>(self)->deadline_) return 0;
    // Random, so that of many who wait none is always the one who comes late.
    thread_local std::minstd_rand random(std::random_device{}());
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::uniform_int_distribution<int>(100, 3000)(random)));
    return 1;
  }

  void require_own_file() {
    const bool empty = run("SELECT count(*) FROM sqlite_schema").at(0).integer(0) == 0;
    if (empty || run("PRAGMA application_id").at(0).integer(0) == application_id) return;
    throw Error(ErrorCode::usage, fmt::format("store '{}' is a database of another program", path_),
                "name another file with --store sqlite:PATH");
  }

  std::vector<Row> run(const char* text, std::span<const Value> parameters = {}) {
    sqlite3_stmt* prepared = nullptr;
    const int compiled = sqlite3_prepare_v2(db_.get(), text, -1, &prepared, nullptr);
    const PreparedStatement statement(prepared);
    if (compiled != SQLITE_OK) throw error(compiled);
    bind(statement.get(), parameters);

    std::vector<Row> rows;
    int step = sqlite3_step(statement.get());
    for (; step == SQLITE_ROW; step = sqlite3_step(statement.get())) rows.push_back(row_of(statement.get()));
    // Only SQLITE_DONE says that the statement's own transaction was committed.
    if (step != SQLITE_DONE) throw error(step);
    return rows;
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

  /// The error for a result code; `db_` still holds its message.
  Error error(int result) const {
    const std::string message = db_ ? sqlite3_errmsg(db_.get()) : sqlite3_errstr(result);
    const auto describe = [&](const char* what) {
      return fmt::format("store '{}' {}: {}", path_, what, message);
    };
    switch (result & 0xFF) {
      case SQLITE_CANTOPEN:
        if (sqlite3_system_errno(db_.get()) == ENOENT) {
          if (if_missing_ == IfMissing::create && has_folder()) {
            return {ErrorCode::usage, fmt::format("store '{}' cannot be made in its folder", path_),
                    "check who may write to that folder, or name another path"};
          }
          if (if_missing_ == IfMissing::create) {
            return {ErrorCode::usage, fmt::format("the folder of store '{}' does not exist", path_),
                    "create it with mkdir, or check the path: '~' is not replaced here"};
          }
          return {ErrorCode::usage, fmt::format("store '{}' does not exist", path_),
                  "create it with 'leafctl init-db'"};
        }
        return {ErrorCode::usage, describe("cannot be opened"),
                "check the path and who may write to its folder"};
      case SQLITE_READONLY:
      case SQLITE_PERM:
      case SQLITE_AUTH:
        return {ErrorCode::usage, describe("cannot be written"),
                "check who may write to the file and its folder"};
      case SQLITE_NOTADB:
        return {ErrorCode::usage, fmt::format("store '{}' is not a SQLite database", path_),
                "name another file with --store sqlite:PATH"};
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        return {ErrorCode::unavailable, fmt::format("store '{}' stayed locked by another process", path_),
                "try again, or allow more time with --timeout", sqlstate::timed_out};
      case SQLITE_FULL:
      case SQLITE_IOERR:
      case SQLITE_NOMEM:
        return {ErrorCode::unavailable, describe("failed"), "check the disk"};
      default:
        return {ErrorCode::failed, describe("failed")};
    }
  }

  /// SQLite says ENOENT of a folder that may not be written too.
  bool has_folder() const {
    std::error_code ignored;
    return std::filesystem::is_directory(std::filesystem::absolute(path_, ignored).parent_path(), ignored);
  }

  std::string path_;
  std::string copy_;
  IfMissing if_missing_;
  steady_clock::time_point deadline_;
  Database db_;
};

std::unique_ptr<Connection> connect(const std::string& path, IfMissing if_missing, milliseconds timeout) {
  return std::make_unique<SqliteConnection>(path, if_missing, timeout);
}

}  // namespace

}  // namespace leaf::store::sqlite

extern "C" LEAF_EXPORT const leaf::store::Driver leaf_store_driver;
const leaf::store::Driver leaf_store_driver{
    .built_with = LEAF_VERSION,
    .migrations = leaf::store::sqlite::migrations(),
    .connect = &leaf::store::sqlite::connect,
    .inspect = &leaf::store::sqlite::inspect,
};
