#pragma once

#include <string>

#include "support/sql_session.hpp"

namespace leaf::test {

/// An empty database of its own on the server that PGHOST and its like name; dropped with its object.
/// Throws std::runtime_error if there is no such server.
class TestDatabase {
 public:
  TestDatabase();
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  const std::string& name() const noexcept { return name_; }
  /// What leads there; `more` are further key=value pairs, which win.
  std::string url(const std::string& more = "") const;
  /// A session in it that lasts as long as the database.
  SqlSession& sql() { return *session_; }
  /// The server's, such as 15.
  int server_version();

 private:
  std::string name_;
  std::unique_ptr<SqlSession> session_;
};

/// A role of its own, without rights; it must go before the database in which it owns anything.
class TestRole {
 public:
  /// `options` are those of CREATE ROLE.
  explicit TestRole(const std::string& options);
  ~TestRole();
  TestRole(const TestRole&) = delete;
  TestRole& operator=(const TestRole&) = delete;

  const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

}  // namespace leaf::test
