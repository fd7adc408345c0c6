#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "support/process.hpp"
#include "support/server_folder.hpp"

namespace leaf::test {

/// A PostgreSQL server of the test's own, to be stopped, killed and promoted. It is reached through a Unix
/// socket in its folder, as the superuser `postgres` without a password. Not thread safe.
class PostgresqlCluster {
 public:
  /// Makes it and starts it; `settings` are lines for postgresql.conf. Unless they turn fsync on, a crash of
  /// the machine loses commits.
  explicit PostgresqlCluster(const std::string& settings = "");
  /// With a clock that set_clock() sets.
  struct WithClock {};
  explicit PostgresqlCluster(WithClock clock);
  /// Makes a streaming standby of `primary` and starts it.
  struct StandbyOf {
    const PostgresqlCluster& primary;
  };
  explicit PostgresqlCluster(StandbyOf standby);
  /// Copies the files of `original`, which is stopped, and starts the copy as it is.
  struct CopyOf {
    const PostgresqlCluster& original;
  };
  explicit PostgresqlCluster(CopyOf copy);
  ~PostgresqlCluster();

  /// The folder of its socket, which is its host name.
  std::string host() const { return folder_.path().string(); }
  std::string url() const { return "host=" + host() + " port=5432 user=postgres dbname=postgres"; }

  /// Returns when it takes connections.
  void start();
  /// As pg_ctl's modes of the same names; returns when it has ended.
  enum class Stop { fast, immediate };
  void stop(Stop how);
  /// Its clock shows so many seconds more than this machine's, or fewer.
  void set_clock(int ahead) const;
  /// Restarts it as one that may begin `left` more transactions before their numbers wrap.
  void age(std::int64_t left);
  /// Has it look how old its oldest transaction is, as a vacuum does that finds tables locked.
  void look_at_age() const;
  /// Vacuums each database, so that nothing of before is old.
  void vacuum() const;
  /// kill -9 of the postmaster.
  void kill();
  /// Its process ID while it runs.
  pid_t postmaster() const { return postmaster_->id(); }

 private:
  std::string data() const { return host() + "/data"; }
  std::string clock_file() const { return host() + "/clock"; }
  void make(const std::string& settings);

  ServerFolder folder_;
  bool has_clock_ = false;
  std::unique_ptr<Process> postmaster_;
};

/// The path of one of the server's programs, of the newest version installed. Throws std::runtime_error.
std::string postgresql_program(const std::string& name);

}  // namespace leaf::test
