#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/sql_session.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"

using leaf::test::error_of;
using leaf::test::PostgresqlCluster;
using leaf::test::proposes;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;

namespace {

const leaf::TagName order("order");
constexpr std::int64_t step = 10;

leaf::NewTag new_tag(const std::string& name, std::optional<std::int64_t> start = {}) {
  return {.name = leaf::TagName(name), .step = step, .start = start, .limit = {}, .description = {}};
}

bool mentions(const leaf::Error& error, const std::string& text) {
  return (std::string(error.what()) + "\n" + error.hint()).find(text) != std::string::npos;
}

/// A store that has given out 5 IDs of a tag.
struct Granted {
  Granted() {
    store.migrate();
    store.add_tag(new_tag("order"));
    store.grant(order, 5);
  }

  TestDatabase database;
  leaf::Store store{{.url = database.url()}};
};

/// A server whose store has given out 500 IDs of a tag, and a worker.
struct Given {
  Given() {
    leaf::Store store({.url = cluster.url()});
    store.migrate();
    store.add_tag(new_tag("order"));
    store.add_tag(new_tag("bill"));
    CHECK(store.grant(order, 500).range == leaf::Range{1, 501});
    store.acquire_worker({.owner = "a"});
  }

  /// The server crashes, and what is unlogged is empty.
  void crash() {
    cluster.kill();
    cluster.start();
  }

  PostgresqlCluster cluster;
};

}  // namespace

TEST_CASE("unlogged: a table that turns so under an open connection is noticed at the next grant and lease") {
  TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  store.add_tag(new_tag("order"));
  leaf::WorkerLease lease = store.acquire_worker({.owner = "a"});
  // Often enough that the statements are prepared.
  for (int i = 0; i < 5; ++i) {
    store.grant(order, 1);
    store.grant_segment(order);
    lease = store.renew_worker(lease, {.owner = "a"});
  }
  const auto require_refused = [](const std::function<void()>& call) {
    const leaf::Error error = error_of(call);
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(mentions(error, "unlogged"));
    CHECK(mentions(error, "SET LOGGED"));
  };
  database.sql().run("ALTER TABLE leaf_alloc SET UNLOGGED");
  require_refused([&] { store.grant(order, 1); });
  require_refused([&] { store.grant_segment(order); });
  require_refused([&] { store.update_tag(order, {.raise_to = 1'000'000}); });
  require_refused([&] { store.add_tag(new_tag("bill")); });
  database.sql().run("ALTER TABLE leaf_alloc SET LOGGED; ALTER TABLE leaf_worker SET UNLOGGED");
  store.grant(order, 1);
  require_refused([&] { store.renew_worker(lease, {.owner = "a"}); });
  require_refused([&] { store.acquire_worker({.owner = "b"}); });
  require_refused([&] { store.acquire_worker({.owner = "b", .worker = 7}); });
  database.sql().run("ALTER TABLE leaf_worker SET LOGGED");
  store.renew_worker(lease, {.owner = "a"});
}

TEST_CASE_FIXTURE(Given, "loss: an emptied table of tags leads nobody to begin again, hint by hint") {
  SqlSession(cluster.url()).run("ALTER TABLE leaf_alloc SET UNLOGGED");
  crash();
  // First as the hint of an unlogged table has it.
  const leaf::Error unlogged = error_of([&] { leaf::Store({.url = cluster.url()}).grant(order, 5); });
  CHECK(unlogged.code() == leaf::ErrorCode::refused);
  REQUIRE(mentions(unlogged, "SET LOGGED"));
  SqlSession(cluster.url()).run("ALTER TABLE leaf_alloc SET LOGGED");

  // Then as the one of a tag that does not exist.
  leaf::Store store({.url = cluster.url()});
  const leaf::Error missing = error_of([&] { store.grant(order, 5); });
  CHECK(missing.code() == leaf::ErrorCode::not_found);
  CHECK(proposes(missing, {.kind = leaf::Remedy::Kind::add_tag, .name = "order"}));
  const leaf::Error refused = error_of([&] { store.add_tag(new_tag("order")); });
  CHECK(refused.code() == leaf::ErrorCode::refused);
  CHECK(mentions(refused, "leaf_alloc has lost 2 of its 2 rows"));
  CHECK(mentions(refused, "the highest ID of the tag that any host has drawn or buffered"));
  CHECK(proposes(refused, {.kind = leaf::Remedy::Kind::add_tag}));
  CHECK(error_of([&] { store.grant(order, 5); }).code() == leaf::ErrorCode::not_found);

  // Then with what was found out.
  store.add_tag(new_tag("order", 501));
  CHECK(store.grant(order, 5).range == leaf::Range{501, 506});
  CHECK(error_of([&] { store.add_tag(new_tag("bill")); }).code() == leaf::ErrorCode::refused);
  store.add_tag(new_tag("bill", 1));
  // Nothing is missing any more.
  CHECK(store.add_tag(new_tag("another")).next_id == 1);
}

TEST_CASE_FIXTURE(Given, "loss: an emptied table of workers leases none while a window may run, once") {
  SqlSession administrator(cluster.url());
  administrator.run("ALTER TABLE leaf_worker SET UNLOGGED");
  crash();
  CHECK(mentions(error_of([&] { leaf::Store({.url = cluster.url()}).workers(); }), "SET LOGGED"));
  SqlSession(cluster.url()).run("ALTER TABLE leaf_worker SET LOGGED");
  leaf::Store store({.url = cluster.url()});
  for (const std::optional<std::int64_t> worker :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(0)}) {
    const leaf::Error error = error_of([&] { store.acquire_worker({.owner = "b", .worker = worker}); });
    CHECK(error.code() == leaf::ErrorCode::unavailable);
    CHECK(mentions(error, "no worker is leased until"));
  }
  // What the time that passes would do.
  SqlSession(cluster.url()).run("UPDATE leaf_meta SET leases_from = 0");
  CHECK(store.acquire_worker({.owner = "b", .worker = 0}).worker == 0);
  CHECK(store.acquire_worker({.owner = "c"}).worker == 1);
  CHECK(store.health().guard.value().leases_from == leaf::UnixTime());
}

TEST_CASE_FIXTURE(Given, "loss: an emptied table that names the deployment says what to find out first") {
  SqlSession(cluster.url())
      .run(
          "ALTER TABLE leaf_meta SET UNLOGGED; ALTER TABLE leaf_alloc SET UNLOGGED;"
          "ALTER TABLE leaf_worker SET UNLOGGED");
  crash();
  SqlSession(cluster.url())
      .run(
          "ALTER TABLE leaf_meta SET LOGGED; ALTER TABLE leaf_alloc SET LOGGED;"
          "ALTER TABLE leaf_worker SET LOGGED");
  leaf::Store store({.url = cluster.url()});
  for (const leaf::Error& error :
       {error_of([&] { store.grant(order, 5); }), error_of([&] { store.add_tag(new_tag("order")); }),
        error_of([&] { store.migrate(); })}) {
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(mentions(error, "table 'leaf_meta' has lost its row"));
    CHECK(mentions(error, "backup"));
  }
}

TEST_CASE_FIXTURE(Granted, "loss: a table that is gone is not made anew") {
  database.sql().run("ALTER TABLE leaf_alloc RENAME TO moved");
  for (const bool is_open : {true, false}) {
    CAPTURE(is_open);
    leaf::Store fresh({.url = database.url()});
    const leaf::Error error = error_of([&] { (is_open ? store : fresh).grant(order, 5); });
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(mentions(error, "find out who moved, dropped or replaced it, and put it back"));
    CHECK(mentions(error, "backup"));
  }
  database.sql().run("ALTER TABLE moved RENAME TO leaf_alloc");
  CHECK(store.grant(order, 5).range == leaf::Range{6, 11});
}

TEST_CASE_FIXTURE(Granted, "loss: a tag that has two rows, as without a key, grants nothing") {
  database.sql().run(
      "SET session_replication_role = replica; ALTER TABLE leaf_alloc DROP CONSTRAINT leaf_alloc_pkey;"
      "INSERT INTO leaf_alloc SELECT (jsonb_populate_record(t, '{\"max_id\": 1000}')).* FROM leaf_alloc t");
  for (int i = 0; i < 2; ++i) {
    const leaf::Error error = error_of([&] { store.grant(order, 5); });
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(mentions(error, "several rows"));
  }
  const auto stopped = store.health().stopped_triggers;
  CHECK(stopped == std::vector<std::string>{"primary key of leaf_alloc"});
  CHECK(error_of([&] { store.migrate(); }).code() == leaf::ErrorCode::refused);
  database.sql().run("DELETE FROM leaf_alloc WHERE max_id < 1000");
  store.migrate();
  CHECK(store.health().stopped_triggers.empty());
  CHECK(store.grant(order, 5).range.lo >= 1000);
}

TEST_CASE_FIXTURE(Granted, "loss: an index that lets a tag have two rows is not taken for its key") {
  SqlSession& sql = database.sql();
  sql.run("ALTER TABLE leaf_alloc DROP CONSTRAINT leaf_alloc_pkey");
  const auto misses_key = [&] {
    return store.health().stopped_triggers == std::vector<std::string>{"primary key of leaf_alloc"};
  };
  for (const std::string index : {"INDEX of_tags ON leaf_alloc (biz_tag)",
                                  "UNIQUE INDEX of_tags ON leaf_alloc (biz_tag) WHERE step > 100",
                                  "UNIQUE INDEX of_tags ON leaf_alloc (biz_tag, step)"}) {
    CAPTURE(index);
    sql.run("CREATE " + index);
    CHECK(misses_key());
    sql.run("DROP INDEX of_tags");
  }
  sql.run("CREATE UNIQUE INDEX of_tags ON leaf_alloc (biz_tag)");
  CHECK(store.health().stopped_triggers.empty());
  sql.run(
      "DROP INDEX of_tags; SET session_replication_role = replica;"
      "INSERT INTO leaf_alloc SELECT (jsonb_populate_record(t, '{\"max_id\": 1000}')).* FROM leaf_alloc t");
  // What fails leaves an index that is not valid.
  CHECK_THROWS(sql.run("CREATE UNIQUE INDEX CONCURRENTLY of_tags ON leaf_alloc (biz_tag)"));
  CHECK(sql.value("SELECT indisvalid FROM pg_index WHERE indexrelid = 'of_tags'::regclass") == "f");
  CHECK(misses_key());
}

TEST_CASE("loss: rows that come one by one, from several at once, are all counted") {
  TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  SqlSession one(database.url()), other(database.url());
  one.run("BEGIN; INSERT INTO leaf_alloc (biz_tag, step) VALUES ('a', 1), ('b', 1)");
  PGconn* waiting = PQconnectdb(database.url().c_str());
  REQUIRE(PQsendQuery(waiting, "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('c', 1)") == 1);
  CHECK(leaf::test::wait_for(
      [&] { return database.sql().value("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1"; }));
  one.run("COMMIT");
  PQclear(PQgetResult(waiting));
  PQfinish(waiting);
  CHECK(database.sql().value("SELECT tags FROM leaf_meta") == "3");
  store.add_tag(new_tag("d"));
  CHECK(database.sql().value("SELECT tags FROM leaf_meta") == "4");
  store.remove_tag(leaf::TagName("d"));
  CHECK(store.add_tag(new_tag("e")).next_id == 1);
  CHECK(store.add_tag(new_tag("d")).next_id == 1);
  CHECK(database.sql().value("SELECT tags FROM leaf_meta") == "5");

  // A role that may only add tags to Leaf's own table still can.
  const leaf::test::TestRole role("NOLOGIN");
  database.sql().run("GRANT INSERT, SELECT ON leaf_alloc TO " + role.name());
  other.run("SET ROLE " + role.name() + "; INSERT INTO leaf_alloc (biz_tag, step) VALUES ('f', 1)");
  database.sql().run("REVOKE ALL ON leaf_alloc FROM " + role.name());
  CHECK(store.add_tag(new_tag("g")).next_id == 1);
  CHECK(database.sql().value("SELECT tags FROM leaf_meta") == "7");
}

TEST_CASE(
    "triggers: each that somebody turns off or drops is named, and runs again after the next migration") {
  leaf::test::TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  leaf::test::SqlSession& sql = database.sql();
  const auto triggers = sql.rows(
      "SELECT tgname, tgrelid::regclass FROM pg_trigger WHERE NOT tgisinternal"
      " AND tgrelid::regclass::text LIKE 'leaf\\_%' ORDER BY 1");
  CHECK(triggers.size() > 15);
  const std::string state =
      "SELECT string_agg(tgname::text || tgenabled::text, ' ' ORDER BY tgname) FROM pg_trigger WHERE NOT "
      "tgisinternal";
  const std::string all_on = sql.value(state);
  for (const std::string how : {"DISABLE", "ENABLE REPLICA", "DROP"}) {
    for (const auto& trigger : triggers) {
      const std::string& name = trigger[0];
      CAPTURE(how);
      CAPTURE(name);
      sql.run(how == "DROP" ? "DROP TRIGGER " + name + " ON " + trigger[1]
                            : "ALTER TABLE " + trigger[1] + " " + how + " TRIGGER " + name);
      const leaf::StoreHealth health = store.health();
      const bool is_of_log = health.stopped_triggers.empty();
      const std::string found = is_of_log ? health.missing_events.at(0) : health.stopped_triggers.at(0);
      CHECK(found == (is_of_log ? "trigger " : "") + name);
      CHECK(health.missing_events.size() + health.stopped_triggers.size() == 1);
      CHECK(store.migrate().size() == 1);
      CHECK(sql.value(state) == all_on);
      CHECK(store.health().stopped_triggers.empty());
    }
  }
  sql.run(
      "ALTER TABLE leaf_alloc DISABLE TRIGGER ALL; ALTER TABLE leaf_worker DISABLE TRIGGER USER;"
      "ALTER TABLE leaf_meta DISABLE TRIGGER USER; ALTER TABLE leaf_event DISABLE TRIGGER USER");
  CHECK(store.health().stopped_triggers.size() + store.health().missing_events.size() == triggers.size());
  CHECK(store.migrate().size() == 2);
  CHECK(sql.value(state) == all_on);
  CHECK(store.migrate().empty());
}
