#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "simulation/store_model.hpp"
#include "store/connection.hpp"
#include "support/test_database.hpp"

namespace leaf::simulation {

/// A connection as the library makes it, by the driver of that name.
std::unique_ptr<store::Connection> connect(const char* database, const std::string& url);

/// A real database, each of whose functions that tell the time or the server's name say what the test has
/// them say: then what a failover, a restore and a wrong clock lead to is as certain as all else.
class DisguisedPostgresql {
 public:
  explicit DisguisedPostgresql(std::int64_t clock_ms);

  store::Connection& connection() { return *connection_; }
  /// What leaf_server() calls what the model calls that, and the other way round. Where a range was granted a
  /// time follows.
  std::string real_name(const ServerName& name) const;
  std::string name_in_model(const std::string& real) const;

  void set_clock(std::int64_t clock_ms, std::int64_t begin_ms);
  void become(const ServerName& name, int start);
  void run(const std::string& script);
  /// No trigger sees it.
  void damage(const std::string& script);
  /// As it was when it was made.
  void empty(const ServerName& here);

 private:
  test::TestDatabase database_;
  std::string oids_;
  std::unique_ptr<store::Connection> connection_;
};

}  // namespace leaf::simulation
