#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/pgbouncer.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;
using leaf::test::TestRole;

namespace {

const leaf::TagName order("order");

leaf::NewTag new_tag(const leaf::TagName& name, std::optional<std::int64_t> start = {}) {
  return {.name = name, .step = 10, .start = start, .limit = {}, .description = {}};
}

std::string quoted(const std::string& text, char quote) {
  std::string result(1, quote);
  for (const char c : text) result += c == quote ? std::string(2, c) : std::string(1, c);
  return result + quote;
}

/// A deployment in a schema of its own, whose tag begins at `start`.
void set_up(const TestDatabase& database, const std::string& schema, std::int64_t start) {
  SqlSession administrator(database.url());
  administrator.run("CREATE SCHEMA " + quoted(schema, '"'));
  administrator.run("ALTER DATABASE " + database.name() + " SET search_path = " + quoted(schema, '"'));
  leaf::Store store({.url = database.url()});
  store.migrate();
  store.add_tag(new_tag(order, start));
}

}  // namespace

TEST_CASE("schema: a search_path that another client of a pooler sets leads no connection astray") {
  TestDatabase database;
  const std::string strange = "Ids of \"us\" & it's {schema}";
  set_up(database, strange, 1'000'000);
  set_up(database, "other", 1);
  database.sql().run("ALTER DATABASE " + database.name() + " SET search_path = " + quoted(strange, '"'));
  const leaf::test::Pgbouncer pgbouncer;
  const std::string url = database.url(pgbouncer.parameters());
  leaf::Store store({.url = url});
  SqlSession neighbour(url);
  std::int64_t next = 1'000'000;
  const auto draw = [&] {
    CHECK(store.grant(order, 3).range == leaf::Range{next, next + 3});
    CHECK(store.grant_segment(order).range == leaf::Range{next + 3, next + 13});
    next += 13;
  };
  draw();
  const std::string deployment = store.identity().deployment;
  neighbour.run("SET search_path = other");
  REQUIRE(SqlSession(url).value("SHOW search_path") == "other");  // it is everybody's now
  for (int i = 0; i < 5; ++i) draw();

  // And so does everything else that is done.
  store.add_tag(new_tag(leaf::TagName("new")));
  store.update_tag(order, {.raise_to = 2'000'000});
  next = 2'000'000;
  draw();
  const leaf::WorkerLease lease = store.acquire_worker({.owner = "a"});
  store.renew_worker(lease, {.owner = "a"});
  CHECK(store.acquire_worker({.owner = "b", .worker = 7}).worker == 7);
  CHECK(store.workers().size() == 2);
  CHECK(store.give_up_worker(lease, lease.begin));
  CHECK(store.release_workers("b", {}).size() == 1);
  store.set_layout(leaf::Layout::parse("leaf"));
  store.set_guard_steps(7);
  CHECK(store.guard_steps() == 7);
  CHECK(store.tags().size() == 2);
  store.remove_tag(leaf::TagName("new"));
  CHECK(store.tags().size() == 1);
  CHECK(store.identity().deployment == deployment);
  CHECK(store.migrate().empty());
  const auto health = store.health();
  CHECK(health.deployment == deployment);
  CHECK(health.guard.value().steps == 7);
  CHECK(health.missing_rights.empty());
  CHECK(health.unlogged_tables.empty());

  CHECK(database.sql().value("SELECT max_id FROM other.leaf_alloc") == "1");
  CHECK(database.sql().value("SELECT count(*) FROM other.leaf_worker") == "0");
  CHECK(database.sql().value("SELECT guard_steps FROM other.leaf_meta") == "100");
}

TEST_CASE("schema: the rights of a runtime role are given where the tables were found") {
  TestRole role("LOGIN PASSWORD 'right'");
  TestDatabase database;
  set_up(database, "it's", 500);
  set_up(database, "other", 1);
  database.sql().run("ALTER DATABASE " + database.name() + " SET search_path = \"it's\"");
  const leaf::test::Pgbouncer pgbouncer;
  leaf::Store owner({.url = database.url(pgbouncer.parameters())});
  owner.tags();
  SqlSession(database.url(pgbouncer.parameters())).run("SET search_path = other");
  owner.grant_runtime_role(role.name());
  leaf::Store runtime({.url = database.url("user=" + role.name() + " password=right")});
  CHECK(runtime.grant(order, 5).range == leaf::Range{500, 505});
  CHECK(runtime.acquire_worker({.owner = "a"}).worker == 0);
  CHECK(runtime.health().missing_rights.empty());
  const leaf::Error error = error_of([&] {
    leaf::Store(
        {.url = database.url("user=" + role.name() + " password=right options='-c search_path=other'")})
        .grant(order, 5);
  });
  CHECK(error.code() == leaf::ErrorCode::usage);
}

TEST_CASE("schema: it is brought up to date where it lies, whatever comes before it in the search_path") {
  TestDatabase database;
  database.sql().run("CREATE SCHEMA ids; CREATE SCHEMA before");
  const std::string script =
      leaf::Store({.url = database.url("options='-c search_path=ids'")}).migration_script();
  const std::size_t fourth = script.find("\n-- migration 4:");
  REQUIRE(fourth != std::string::npos);
  database.sql().run(script.substr(0, fourth) + "\nCOMMIT");
  leaf::Store store({.url = database.url("options='-c search_path=before,ids'")});
  CHECK_FALSE(store.migrate().empty());
  CHECK(store.add_tag(new_tag(order)).next_id == 1);
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
  CHECK(database.sql().value("SELECT count(*) FROM pg_proc WHERE pronamespace = 'before'::regnamespace") ==
        "0");
}

TEST_CASE("schema: one that is renamed under an open connection is found again by the same call") {
  TestDatabase database;
  set_up(database, "ids", 1);
  leaf::Store store({.url = database.url("options='-c search_path=ids,later'")});
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
  database.sql().run("ALTER SCHEMA ids RENAME TO later");
  CHECK(store.grant(order, 5).range == leaf::Range{6, 11});
}
