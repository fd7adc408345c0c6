#include <doctest/doctest.h>

#include <string>

#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/sql_session.hpp"

using leaf::test::error_of;
using leaf::test::PostgresqlCluster;
using leaf::test::SqlSession;

TEST_CASE("wraparound: what the server warns of keeps nobody from drawing, and its refusal is out of reach") {
  PostgresqlCluster cluster("max_prepared_transactions = 1");
  const leaf::TagName order("order");
  {
    leaf::Store store({.url = cluster.url()});
    store.migrate();
    store.add_tag({.name = order, .step = 10});
    CHECK(store.health().transactions_left.value() > 2'000'000'000);
  }
  SqlSession(cluster.url()).run("BEGIN; CREATE TABLE old (); PREPARE TRANSACTION 'forgotten'");

  cluster.age(38'000'000);
  {
    leaf::Store store({.url = cluster.url()});
    CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
    CHECK(store.grant_segment(order).range == leaf::Range{6, 16});
    CHECK(store.acquire_worker({.owner = "a"}).worker == 0);
    CHECK(store.workers().size() == 1);
    CHECK(store.health().transactions_left.value() < 38'000'000);
  }

  cluster.age(2'000'000);  // from which on none is begun
  leaf::Store store({.url = cluster.url()});
  const leaf::Error error = error_of([&] { store.grant(order, 5); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.sqlstate() == "54000");
  const leaf::StoreHealth health = store.health();
  CHECK(health.transactions_left.value() <= 0);
  CHECK_FALSE(health.oldest_database.empty());
  CHECK(store.tag(order).next_id == 16);

  // The hint.
  SqlSession(cluster.url()).run("ROLLBACK PREPARED 'forgotten'");
  cluster.vacuum();
  CHECK(store.health().transactions_left.value() > 2'000'000'000);
  CHECK(store.grant(order, 5).range == leaf::Range{16, 21});
}
