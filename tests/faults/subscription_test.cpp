#include <doctest/doctest.h>
#include <sched.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/health.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/sql_session.hpp"

using leaf::test::error_of;
using leaf::test::PostgresqlCluster;
using leaf::test::SqlSession;

namespace {

const leaf::TagName order("order");

leaf::NewTag new_tag(const std::string& name) {
  return {.name = leaf::TagName(name), .step = 10, .start = {}, .limit = {}, .description = {}};
}

/// A store that moved from a server to another one, which may follow the former by logical replication.
struct Moved {
  Moved() {
    leaf::Store before({.url = former.url()});
    before.migrate();
    before.install_functions();
    before.add_tag(new_tag("order"));
    CHECK(before.grant(order, 500).range == leaf::Range{1, 501});
    before.acquire_worker({.owner = "a"});
    SqlSession(former.url()).run("CREATE PUBLICATION leaf FOR ALL TABLES");
  }

  void dump(const std::vector<std::string>& options) {
    std::vector<std::string> command{leaf::test::postgresql_program("pg_dump"), "--dbname", former.url()};
    command.insert(command.end(), options.begin(), options.end());
    leaf::test::run({"psql", "-qX", "--dbname", present.url()}, leaf::test::run(command));
  }
  void follow(const std::string& options) {
    sql.run("CREATE SUBSCRIPTION \"from before\" CONNECTION '" + former.url() +
            "' PUBLICATION leaf WITH (slot_name = leaf" + options + ")");
  }
  void wait_until(const std::string& is_so) {
    while (sql.value(is_so) != "t") sched_yield();
  }

  PostgresqlCluster former{"wal_level = logical"};
  PostgresqlCluster present{"wal_level = logical"};
  SqlSession sql{present.url()};
};

void require_refused(const std::function<void()>& call) {
  const leaf::Error error = error_of(call);
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(std::string(error.what()).find("a subscription writes into") != std::string::npos);
  CHECK(error.hint().find("DROP SUBSCRIPTION") != std::string::npos);
}

}  // namespace

// No trigger runs for what it brings: a change there of any row sets that row back here.
TEST_CASE_FIXTURE(Moved, "subscription: a store that comes to follow another one grants nothing more") {
  dump({});
  leaf::Store store({.url = present.url()});
  store.settle_failover(store.failover(), leaf::Commits::all_there);
  CHECK(store.grant(order, 1).range.lo == 501);
  leaf::WorkerLease lease = store.acquire_worker({.owner = "b"});
  // Often enough that the statements are prepared.
  for (int i = 0; i < 5; ++i) {
    store.grant(order, 1);
    store.grant_segment(order);
    lease = store.renew_worker(lease, {.owner = "b"});
  }
  follow(", copy_data = false");
  const std::string used_up =
      "SELECT (SELECT max_id FROM leaf_alloc) || ' ' || (SELECT max(window_end) FROM leaf_worker)"
      " || ' ' || (SELECT next_worker FROM leaf_meta)";
  const std::string before = sql.value(used_up);
  require_refused([&] { store.grant(order, 1); });
  require_refused([&] { store.grant_segment(order); });
  require_refused([&] { store.renew_worker(lease, {.owner = "b"}); });
  require_refused([&] { store.acquire_worker({.owner = "c"}); });
  CHECK(sql.value(used_up) == before);
  require_refused([&] { store.update_tag(order, {.raise_to = 1'000'000}); });
  require_refused([&] { store.add_tag(new_tag("bill")); });
  CHECK_THROWS_WITH_AS(sql.run("SELECT leaf_next('order')"),
                       doctest::Contains("a subscription writes into table public.leaf_alloc"),
                       std::runtime_error);
  CHECK(store.health().subscriptions == std::vector<std::string>{"\"from before\""});
  sql.run("DROP SUBSCRIPTION \"from before\"");
  CHECK(store.health().subscriptions.empty());
  store.grant(order, 1);
  store.renew_worker(lease, {.owner = "b"});
}

TEST_CASE_FIXTURE(Moved, "subscription: a store that was moved by one goes on once it is dropped") {
  dump({"--schema-only"});
  follow("");
  wait_until("SELECT count(*) = 4 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel");
  leaf::Store store({.url = present.url()});
  require_refused([&] { store.grant(order, 1); });
  require_refused([&] { store.settle_failover(store.failover(), leaf::Commits::all_there); });

  const std::int64_t end = leaf::Store({.url = former.url()}).grant(order, 100).range.hi;
  wait_until("SELECT max_id = " + std::to_string(end) + " FROM leaf_alloc");
  sql.run("DROP SUBSCRIPTION \"from before\"");
  store.settle_failover(store.failover(), leaf::Commits::all_there);
  CHECK(store.grant(order, 1).range.lo == end);
  CHECK(store.acquire_worker({.owner = "b"}).worker == 1);
}
