#include "support/postgresql_cluster.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/sql_session.hpp"
#include "support/wait_for.hpp"

namespace leaf::test {

namespace fs = std::filesystem;

std::string postgresql_program(const std::string& name) {
  // tests/versions/run chooses another version, and looks for these words.
  if (const char* folder = std::getenv("TEST_POSTGRESQL_BIN")) {
    if (fs::exists(fs::path(folder) / name)) return fs::path(folder) / name;
    if (name != "psql" && name != "pgbench")
      throw std::runtime_error("left out: there is no " + name + " of the server's version");
  }
  fs::path found;
  int newest = 0;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql")) {
    const fs::path program = version.path() / "bin" / name;
    const int number = std::atoi(version.path().filename().c_str());
    if (number <= newest || !fs::exists(program)) continue;
    newest = number;
    found = program;
  }
  if (found.empty()) throw std::runtime_error(name + " is not installed: did you mean to run scripts/test?");
  return found;
}

PostgresqlCluster::PostgresqlCluster(const std::string& settings) {
  make(settings);
  start();
}

PostgresqlCluster::PostgresqlCluster(WithClock) : has_clock_(true) {
  make("");
  set_clock(0);
  start();
}

void PostgresqlCluster::make(const std::string& settings) {
  run(as_postgres({postgresql_program("initdb"), "--no-sync", "--auth=trust", "--username=postgres",
                   "--no-locale", "--encoding=UTF8", "--pgdata=" + data()}));
  std::ofstream(data() + "/postgresql.conf", std::ios::app)
      << "listen_addresses = ''\nunix_socket_directories = '" << host() << "'\n"
      << "port = 5432\nshared_buffers = 16MB\nfsync = off\n"
      << settings << "\n";
}

PostgresqlCluster::PostgresqlCluster(StandbyOf standby) {
  run(as_postgres({postgresql_program("pg_basebackup"), "--no-sync", "--checkpoint=fast",
                   "--write-recovery-conf", "--pgdata=" + data(), "--dbname=" + standby.primary.url()}));
  std::ofstream(data() + "/postgresql.conf", std::ios::app)
      << "unix_socket_directories = '" << host() << "'\n";
  start();
}

PostgresqlCluster::PostgresqlCluster(CopyOf copy) {
  run(as_postgres({"cp", "--archive", copy.original.data(), data()}));
  std::ofstream(data() + "/postgresql.conf", std::ios::app)
      << "unix_socket_directories = '" << host() << "'\n";
  start();
}

PostgresqlCluster::~PostgresqlCluster() {
  if (!postmaster_) return;
  // Not killed: it outlives its children, so that nobody writes to the folder any more when that goes.
  postmaster_->signal(SIGCONT);
  stop(Stop::immediate);
}

void PostgresqlCluster::start() {
  const bool started = wait_for([&] {
    // A killed postmaster's children may live on for a moment; until they are gone a new one gives up.
    if (!postmaster_ || !postmaster_->running()) {
      std::vector<std::string> command{postgresql_program("postgres"), "-D", data()};
      if (has_clock_) {
        command.insert(command.begin(),
                       {"env", "LD_PRELOAD=" LEAF_FAKETIME, "FAKETIME_TIMESTAMP_FILE=" + clock_file(),
                        "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"});
      }
      postmaster_ = std::make_unique<Process>(as_postgres(std::move(command)));
    }
    return PQping(url().c_str()) == PQPING_OK;
  });
  if (!started) throw std::runtime_error("PostgreSQL does not start:\n" + postmaster_->output());
}

void PostgresqlCluster::stop(Stop how) {
  postmaster_->signal(how == Stop::fast ? SIGINT : SIGQUIT);
  postmaster_->wait();
}

void PostgresqlCluster::set_clock(int ahead) const {
  const std::string next = clock_file() + ".next";
  std::ofstream(next) << std::showpos << ahead << "\n";
  fs::permissions(next, fs::perms::others_read, fs::perm_options::add);
  fs::rename(next, clock_file());
}

void PostgresqlCluster::age(std::int64_t left) {
  constexpr std::int64_t half = 2'147'483'647, in_a_file = std::int64_t{1} << 20;
  const std::int64_t oldest =
      std::stoll(SqlSession(url()).value("SELECT min(datfrozenxid::text::bigint) FROM pg_database"));
  SqlSession(url()).run("ALTER DATABASE template0 ALLOW_CONNECTIONS true");  // for vacuum()
  stop(Stop::fast);
  const std::int64_t next = oldest + half - left;
  run(as_postgres(
      {postgresql_program("pg_resetwal"), "--next-transaction-id=" + std::to_string(next), data()}));
  // The server looks there for what became of the last one.
  const std::string file = fmt::format("{}/pg_xact/{:04X}", data(), next / in_a_file);
  run(as_postgres({"sh", "-c", "head -c 262144 /dev/zero >\"$1\"", "sh", file}));
  start();
}

void PostgresqlCluster::look_at_age() const {
  SqlSession(url()).run("VACUUM (SKIP_LOCKED)");
}

void PostgresqlCluster::vacuum() const {
  run({postgresql_program("vacuumdb"), "--all", "--freeze", "--host=" + host(), "--port=5432",
       "--username=postgres"});
}

void PostgresqlCluster::kill() {
  postmaster_->signal(SIGKILL);
  postmaster_->wait();
}

}  // namespace leaf::test
