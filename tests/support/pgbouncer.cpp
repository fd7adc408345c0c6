#include "support/pgbouncer.hpp"

#include <libpq-fe.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "support/wait_for.hpp"

namespace leaf::test {

namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

}  // namespace

Pgbouncer::Pgbouncer(const std::string& mode, int servers) {
  const std::string folder = folder_.path().string();
  const std::string file = folder + "/pgbouncer.ini";
  std::ofstream(file) << "[databases]\n* = host=" << environment("PGHOST", "")
                      << " port=" << environment("PGPORT", "5432")
                      << " user=" << environment("PGUSER", "postgres")
                      << " password=" << environment("PGPASSWORD", "")
                      << "\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = " << folder
                      << "\nlisten_port = 6432\nauth_type = any\npool_mode = " << mode
                      << "\ndefault_pool_size = " << servers
                      << "\nmin_pool_size = 0\nreserve_pool_size = 0\n";
  process_ = std::make_unique<Process>(as_postgres({"pgbouncer", file}));
  const std::string target = parameters() + " dbname=postgres";
  if (!wait_for([&] { return !process_->running() || PQping(target.c_str()) == PQPING_OK; }) ||
      !process_->running()) {
    throw std::runtime_error("pgbouncer does not start:\n" + process_->output());
  }
}

std::string Pgbouncer::parameters() const {
  return "host=" + folder_.path().string() + " port=6432 user=anybody sslmode=disable";
}

}  // namespace leaf::test
