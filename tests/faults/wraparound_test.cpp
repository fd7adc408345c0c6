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
  // By itself it begins to freeze rows at two thousand million transactions.
  PostgresqlCluster cluster(
      "max_prepared_transactions = 1\nautovacuum = off\nautovacuum_freeze_max_age = 2000000000");
  const leaf::TagName order("order");
  {
    leaf::Store store({.url = cluster.url()});
    store.migrate();
    store.add_tag({.name = order, .step = 10});
    CHECK(store.health().transactions_left.value() > 2'000'000'000);
  }
  // Young itself: when it starts, a server writes four bytes for each transaction since the oldest that is
  // prepared.
  SqlSession(cluster.url()).run("CREATE TABLE old ()");
  cluster.age(157'000'000);
  SqlSession(cluster.url()).run("BEGIN; LOCK TABLE old; PREPARE TRANSACTION 'forgotten'");

  cluster.age(38'000'000);
  cluster.look_at_age();
  {
    leaf::Store store({.url = cluster.url()});
    CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
    CHECK(store.grant_segment(order).range == leaf::Range{6, 16});
    CHECK(store.acquire_worker({.owner = "a"}).worker == 0);
    CHECK(store.workers().size() == 1);
    CHECK(store.health().transactions_left.value() < 38'000'000);
  }

  cluster.age(2'000'000);  // from which on none is begun
  cluster.look_at_age();
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
