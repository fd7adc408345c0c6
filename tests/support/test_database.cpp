#include "support/test_database.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

namespace leaf::test {

namespace {

/// One for the whole program, for a server takes longer to begin a session than to make a database. It is
/// never closed: a child of fork() that exits would end it for its parent.
SqlSession& administration() {
  if (std::getenv("PGHOST") == nullptr) {
    throw std::runtime_error(
        "PGHOST is not set, so there is no PostgreSQL to test with: did you mean to run scripts/test?");
  }
  static SqlSession* const session = new SqlSession("");
  return *session;
}

int version_of(SqlSession& session) {
  return std::stoi(session.value("SHOW server_version_num")) / 10'000;
}

std::string new_name() {
  static std::atomic<int> count{0};
  return fmt::format("leaf_test_{}_{}", getpid(), ++count);
}

}  // namespace

TestDatabase::TestDatabase() : name_(new_name()) {
  // Whatever the server's own locale is. Copying files is quicker than writing a log of it.
  administration().run("CREATE DATABASE " + name_ + " ENCODING 'UTF8' TEMPLATE template0" +
                       (version_of(administration()) < 15 ? "" : " STRATEGY file_copy"));
  session_ = std::make_unique<SqlSession>(url());
  session_->run("REVOKE CREATE ON SCHEMA public FROM PUBLIC");  // which servers before 15 grant
}

int TestDatabase::server_version() {
  return version_of(*session_);
}

TestDatabase::~TestDatabase() {
  session_.reset();
  try {
    administration().run("DROP DATABASE " + name_ + " WITH (FORCE)");
  } catch (const std::runtime_error& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
}

std::string TestDatabase::url(const std::string& more) const {
  return fmt::format("dbname={} {}", name_, more);
}

TestRole::TestRole(const std::string& options) : name_(new_name()) {
  administration().run(fmt::format("CREATE ROLE {} {}", name_, options));
}

TestRole::~TestRole() {
  try {
    administration().run("DROP ROLE " + name_);
  } catch (const std::runtime_error& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
}

}  // namespace leaf::test
