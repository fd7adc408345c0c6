#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/sql_session.hpp"
#include "support/wait_for.hpp"
#include "support/worker_request.hpp"

using leaf::test::error_text;
using leaf::test::PostgresqlCluster;
using leaf::test::request_of;
using leaf::test::SqlSession;

TEST_CASE("server clock: one that is set back while a first lease waits is not taken for a restore") {
  const PostgresqlCluster cluster{PostgresqlCluster::WithClock()};
  leaf::Store store({.url = cluster.url()});
  store.migrate();
  CHECK(store.acquire_worker(request_of("a")).worker == 0);
  SqlSession holder(cluster.url()), watcher(cluster.url());
  holder.run("BEGIN; UPDATE leaf_meta SET layout_fixed = layout_fixed");
  std::string refusal;
  std::jthread waiting([&] {
    refusal = error_text([&] { leaf::Store({.url = cluster.url()}).acquire_worker(request_of("b")); });
  });
  REQUIRE(leaf::test::wait_for(
      [&] { return watcher.value("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1"; }));
  const std::string before = watcher.value("SELECT clock_timestamp()");
  cluster.set_clock(-2);
  REQUIRE(watcher.value("SELECT clock_timestamp() < $1::timestamptz", {before}) == "t");
  holder.run("COMMIT");
  waiting.join();
  CHECK(refusal == "");
  cluster.set_clock(0);
  CHECK(store.acquire_worker(request_of("c")).worker == 2);
  CHECK(store.health().guard.value().change == leaf::GuardedChange::noticed);
}
