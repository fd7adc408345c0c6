#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <vector>

namespace leaf::test {

/// A plain connection to PostgreSQL: the tests' own eyes and hands, beside the library under test. Each call
/// throws std::runtime_error with the server's message if it fails. Not thread safe.
class SqlSession {
 public:
  using Rows = std::vector<std::vector<std::string>>;  // NULL reads as ""

  explicit SqlSession(const std::string& connection_string);

  /// One or more statements.
  void run(const std::string& statements);
  Rows rows(const std::string& query, const std::vector<std::string>& parameters = {});
  /// The only column of the only row.
  std::string value(const std::string& query, const std::vector<std::string>& parameters = {});
  /// Process ID of the server's side.
  int backend() const { return PQbackendPID(connection_.get()); }

 private:
  struct Finish {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
  };
  std::unique_ptr<PGconn, Finish> connection_;
};

}  // namespace leaf::test
