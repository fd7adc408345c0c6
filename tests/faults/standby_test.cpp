#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/guard_share.hpp"
#include "support/manual_clock.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/sql_session.hpp"
#include "support/standby.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"

using leaf::test::error_of;
using leaf::test::PostgresqlCluster;
using leaf::test::wait_until_replayed;

namespace {

const leaf::TagName order("order");

void set_up(const std::string& url) {
  leaf::Store store({.url = url});
  store.migrate();
  store.add_tag({.name = order, .step = 10, .start = {}, .limit = {}, .description = {}});
}

/// A port of 127.0.0.1 where a kernel accepts connections, and nobody behind it ever answers.
class FrozenPort {
 public:
  explicit FrozenPort(int queue = 64) : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(bind(listener_, generic, size) == 0);
    REQUIRE(listen(listener_, queue) == 0);
    REQUIRE(getsockname(listener_, generic, &size) == 0);
    number = std::to_string(ntohs(address.sin_port));
  }
  ~FrozenPort() { close(listener_); }
  FrozenPort(const FrozenPort&) = delete;
  FrozenPort& operator=(const FrozenPort&) = delete;

  sockaddr_in address{};
  std::string number;

 private:
  int listener_;
};

/// A port of 127.0.0.1 that answers nobody: its queue is full, so that the kernel drops what comes.
class SilentPort : public FrozenPort {
 public:
  SilentPort() : FrozenPort(0) {
    for (int& client : clients_) {
      client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
  }
  ~SilentPort() {
    for (const int client : clients_) close(client);
  }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

 private:
  std::array<int, 4> clients_{};
};

}  // namespace

TEST_CASE("standby: alone it is out of reach, among several hosts the primary is found") {
  PostgresqlCluster primary;
  set_up(primary.url());
  PostgresqlCluster standby(PostgresqlCluster::StandbyOf{primary});
  wait_until_replayed(primary, standby);

  leaf::Store reader({.url = standby.url()});
  CHECK(reader.tags().size() == 1);
  const leaf::Error error = error_of([&] { reader.grant(order, 5); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.sqlstate() == "25006");
  const std::string what_helps =
      "this server is a standby: name the primary, or all servers as host=A,B with "
      "target_session_attrs=read-write";
  CHECK(error.hint() == what_helps);
  const leaf::StoreHealth at_standby = reader.health();
  const leaf::StoreHealth at_primary = leaf::Store({.url = primary.url()}).health();
  CHECK(at_standby.is_standby);
  CHECK_FALSE(at_primary.is_standby);
  CHECK_FALSE(at_primary.is_read_only);
  CHECK_FALSE(at_primary.system_identifier.empty());
  CHECK(at_standby.system_identifier == at_primary.system_identifier);
  CHECK(at_standby.timeline == 1);
  CHECK(at_primary.timeline == 1);

  const std::string both =
      "host=" + standby.host() + "," + primary.host() + " port=5432 user=postgres dbname=postgres";
  leaf::Store of_standbys({.url = both + " target_session_attrs=prefer-standby"});
  CHECK(error_of([&] { of_standbys.grant(order, 5); }).hint() == what_helps);
  leaf::Store store({.url = both, .timeout = std::chrono::seconds(60)});
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});

  SUBCASE("and after the primary was stopped, the promoted one") {
    wait_until_replayed(primary, standby);
    primary.stop(PostgresqlCluster::Stop::fast);
    leaf::test::ManualClock clock;
    CHECK(error_of([&] { leaf::Store({.url = both, .clock = &clock}).grant(order, 5); }).code() ==
          leaf::ErrorCode::unavailable);
    leaf::test::SqlSession(standby.url()).run("SELECT pg_promote()");
  }
  SUBCASE("and after the primary was made read-only, the promoted one, though a connection is still open") {
    leaf::test::SqlSession administrator(primary.url());
    administrator.run("ALTER SYSTEM SET default_transaction_read_only = on");
    administrator.run("SELECT pg_reload_conf()");
    REQUIRE(leaf::test::wait_for(
        [&] { return administrator.value("SHOW default_transaction_read_only") == "on"; }));
    wait_until_replayed(primary, standby);
    leaf::test::SqlSession(standby.url()).run("SELECT pg_promote()");
  }
  constexpr std::int64_t guard = 1000;  // it might lack grants: see failover_test.cpp
  const leaf::Range first = store.grant(order, 5).range;
  CHECK(leaf::test::is_behind_guard(first, 6, guard));
  CHECK(leaf::Store({.url = standby.url()}).health().timeline == 2);
  CHECK(reader.grant(order, 5).range == leaf::Range{first.lo + 5, first.hi + 5});
}

TEST_CASE(
    "standby: a database that is read-only by default is out of reach, and migrate changes nothing there") {
  leaf::test::TestDatabase database;
  set_up(database.url());
  leaf::Store store({.url = database.url("options='-c default_transaction_read_only=on'")});
  const leaf::Error error = error_of([&] { store.grant(order, 5); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.sqlstate() == "25006");
  CHECK(error.hint().find("standby") == std::string::npos);
  CHECK(error.hint().find("default_transaction_read_only") != std::string::npos);
  CHECK(store.tags().size() == 1);

  // Of several hosts one is looked for that takes writes, and libpq says of this one that it does not.
  leaf::Store among({.url = database.url("options='-c default_transaction_read_only=on' host=/nowhere," +
                                         std::string(std::getenv("PGHOST"))),
                     .timeout = std::chrono::milliseconds(0)});
  const leaf::Error none = error_of([&] { among.grant(order, 5); });
  CHECK(none.code() == leaf::ErrorCode::unavailable);
  CHECK(none.hint().find("default_transaction_read_only") != std::string::npos);

  // The hint.
  database.sql().run("ALTER DATABASE " + database.name() + " SET default_transaction_read_only = on");
  CHECK(error_of([&] { leaf::Store({.url = database.url()}).grant(order, 5); }).hint() == error.hint());
  database.sql().run("SET default_transaction_read_only = off; ALTER DATABASE " + database.name() +
                     " RESET default_transaction_read_only");
  CHECK(leaf::Store({.url = database.url()}).grant(order, 5).range == leaf::Range{1, 6});

  leaf::test::TestDatabase empty;
  leaf::Store fresh({.url = empty.url("options='-c default_transaction_read_only=on'")});
  const leaf::Error refused = error_of([&] { fresh.migrate(); });
  CHECK(refused.code() == leaf::ErrorCode::unavailable);
  CHECK(refused.hint().find("default_transaction_read_only") != std::string::npos);
  CHECK(empty.sql().value("SELECT to_regclass('leaf_meta') IS NULL") == "t");
}

TEST_CASE("hosts: one that swallows every packet leaves time for the next") {
  leaf::test::TestDatabase database;
  set_up(database.url());
  const SilentPort silent;
  const std::string& port = silent.number;
  leaf::Store store({.url = database.url("host=127.0.0.1," + std::string(std::getenv("PGHOST")) +
                                         " port=" + port + "," + std::getenv("PGPORT")),
                     .timeout = std::chrono::milliseconds(3000)});
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});

  // Each address of a name is tried once.
  leaf::Store by_name({.url = database.url("host=localhost," + std::string(std::getenv("PGHOST")) +
                                           " port=" + port + "," + std::getenv("PGPORT")),
                       .timeout = std::chrono::milliseconds(3000)});
  CHECK(by_name.grant(order, 5).range == leaf::Range{6, 11});

  leaf::Store alone(
      {.url = database.url("host=127.0.0.1 port=" + port), .timeout = std::chrono::milliseconds(300)});
  CHECK(error_of([&] { alone.tags(); }).code() == leaf::ErrorCode::unavailable);
  CHECK(leaf::Store({.url = database.url()}).tags().size() == 1);  // as the hint says: the host and port are
}

TEST_CASE("hosts: one whose processes stand still leaves time for the next") {
  leaf::test::TestDatabase database;
  set_up(database.url());
  const FrozenPort frozen;
  const std::string real = std::getenv("PGHOST");
  const std::string port = std::getenv("PGPORT");
  const auto grant = [&](const std::string& hosts, const std::string& ports,
                         std::chrono::milliseconds timeout) {
    leaf::Store store({.url = database.url("host=" + hosts + " port=" + ports), .timeout = timeout});
    return store.grant(order, 5).range.lo;
  };
  const std::chrono::seconds second(1);
  CHECK(grant("127.0.0.1," + real, frozen.number + "," + port, 2 * second) == 1);
  CHECK(grant("127.0.0.1,127.0.0.1," + real, "1," + frozen.number + "," + port, 2 * second) == 6);
  // Its share of the time alone would be longer.
  const auto begun = std::chrono::steady_clock::now();
  CHECK(grant("127.0.0.1," + real, frozen.number + "," + port + " connect_timeout=1", 60 * second) == 11);
  CHECK(std::chrono::steady_clock::now() - begun < 29 * second);

  leaf::Store none({.url = database.url("host=127.0.0.1,127.0.0.1 port=" + frozen.number + ",1"),
                    .timeout = std::chrono::milliseconds(400)});
  const leaf::Error error = error_of([&] { none.tags(); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(std::string(error.what())
            .find(fmt::format("port {} failed: it did not answer in time", frozen.number)) !=
        std::string::npos);
  CHECK(std::string(error.what()).find("Connection refused") != std::string::npos);
}

TEST_CASE("hosts: where none can be logged in to, the error says what each of them said") {
  leaf::test::TestDatabase database;
  const leaf::test::TestRole role("LOGIN PASSWORD 'right'");
  leaf::Store store(
      {.url = database.url("host=127.0.0.1," + std::string(std::getenv("PGHOST")) + " port=1," +
                           std::getenv("PGPORT") + " user=" + role.name() + " password=geheim")});
  const leaf::Error error = error_of([&] { store.tags(); });
  CHECK(error.code() == leaf::ErrorCode::usage);
  CHECK(std::string(error.what()).find("Connection refused") != std::string::npos);
  CHECK(std::string(error.what()).find("password authentication failed") != std::string::npos);
}
