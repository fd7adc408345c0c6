#pragma once

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <string>

namespace leaf::test {

/// A connection to a SQLite file beside the library's own, as another program would have it.
class SqliteSession {
 public:
  explicit SqliteSession(const std::string& path) {
    REQUIRE(sqlite3_open(path.c_str(), &db_) == SQLITE_OK);
    sqlite3_busy_timeout(db_, 60'000);  // the library may be writing at this moment
  }
  ~SqliteSession() { close(); }
  SqliteSession(const SqliteSession&) = delete;
  SqliteSession& operator=(const SqliteSession&) = delete;

  /// True if SQLite took it.
  bool run(const std::string& sql) {
    return sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  /// The only column of the first row, as text; empty if there is none.
  std::string value(const std::string& query) {
    std::string text;
    const auto note = [](void* target, int, char** values, char**) {
      if (values[0] != nullptr) *static_cast<std::string*>(target) = values[0];
      return 1;
    };
    sqlite3_exec(db_, query.c_str(), note, &text, nullptr);
    return text;
  }
  void close() {
    sqlite3_close(db_);
    db_ = nullptr;
  }

 private:
  sqlite3* db_ = nullptr;
};

}  // namespace leaf::test
