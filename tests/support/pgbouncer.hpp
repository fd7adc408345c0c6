#pragma once

#include <memory>
#include <string>

#include "support/process.hpp"
#include "support/server_folder.hpp"

namespace leaf::test {

/// pgbouncer with so many connections to the server that PGHOST and its like name, for all its clients. It is
/// reached through a Unix socket, without a password.
class Pgbouncer {
 public:
  /// `mode`: when a connection goes to the next client: after a session, transaction or statement.
  explicit Pgbouncer(const std::string& mode = "transaction", int servers = 1);

  /// What to add to a database's key=value pairs to go through it.
  std::string parameters() const;

 private:
  ServerFolder folder_;
  std::unique_ptr<Process> process_;
};

}  // namespace leaf::test
