#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::proposes;
using leaf::test::TestDatabase;

namespace {

const leaf::TagName order("order");

/// The schema as pg_dump writes it, without the tokens that it draws anew for each dump.
std::string schema_of(const TestDatabase& database) {
  const std::string dump = leaf::test::run({leaf::test::postgresql_program("pg_dump"), "--schema-only",
                                            "--no-owner", "--dbname", database.name()});
  return std::regex_replace(dump, std::regex("\\\\(un)?restrict [^\n]*\n"), "");
}

}  // namespace

TEST_CASE("migrate: a fresh database gets the schema, and a second time nothing") {
  TestDatabase database;
  leaf::Store store({.url = database.url()});
  const auto pending = store.pending_migrations();
  const auto applied = store.migrate();
  REQUIRE(!applied.empty());
  REQUIRE(pending.size() == applied.size());
  CHECK(pending.front().name == applied.front().name);
  const std::string deployment = store.identity().deployment;
  CHECK(deployment.size() == 36);

  CHECK(store.migrate().empty());
  CHECK(store.pending_migrations().empty());
  CHECK(store.migration_script().empty());
  CHECK(store.identity().deployment == deployment);
}

TEST_CASE("migrate: two at once leave one schema, and one of them did the work") {
  TestDatabase database;
  std::vector<std::size_t> applied(4, 0);
  std::vector<std::string> failures(applied.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < applied.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        applied[i] =
            leaf::Store({.url = database.url(), .timeout = std::chrono::seconds(30)}).migrate().size();
      } catch (const leaf::Error& error) {
        failures[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) CHECK(failure == "");
  CHECK(std::count_if(applied.begin(), applied.end(), [](std::size_t n) { return n > 0; }) == 1);
  CHECK(database.sql().value("SELECT count(*) FROM leaf_meta") == "1");
}

TEST_CASE("migrate: the script run by psql gives the same schema as the call") {
  TestDatabase called;
  leaf::Store({.url = called.url()}).migrate();

  TestDatabase scripted;
  leaf::Store store({.url = scripted.url()});
  const std::string script = store.migration_script();
  CHECK(scripted.sql().value("SELECT to_regclass('leaf_meta') IS NULL") == "t");
  leaf::test::run({leaf::test::postgresql_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1",
                   "--dbname", scripted.name()},
                  script);
  CHECK(schema_of(scripted) == schema_of(called));
  CHECK(store.migrate().empty());
  CHECK(store.add_tag({.name = order, .step = {}, .start = {}, .limit = {}, .description = {}}).next_id == 1);
}

TEST_CASE("migrate: a failure after any of its commands leaves nothing behind") {
  TestDatabase database;
  database.sql().run(R"(
    CREATE SCHEMA fault;
    CREATE TABLE fault.plan (fails_at integer);
    INSERT INTO fault.plan VALUES (0);
    CREATE SEQUENCE fault.commands;
    CREATE FUNCTION fault.strike() RETURNS event_trigger LANGUAGE plpgsql AS $body$
    BEGIN
      IF nextval('fault.commands') = (SELECT fails_at FROM fault.plan) THEN RAISE 'struck'; END IF;
    END
    $body$;
    CREATE EVENT TRIGGER strike ON ddl_command_end EXECUTE FUNCTION fault.strike();
  )");
  leaf::Store store({.url = database.url()});
  int failures = 0;
  for (int nth = 1;; ++nth) {
    database.sql().run(
        fmt::format("UPDATE fault.plan SET fails_at = {}; SELECT setval('fault.commands', 1, false)", nth));
    try {
      store.migrate();
      break;
    } catch (const leaf::Error& error) {
      ++failures;
      INFO("at command ", nth);
      CHECK(std::string(error.what()).find("struck") != std::string::npos);
      CHECK(database.sql().value(
                "SELECT count(*) FROM pg_class WHERE relname LIKE 'leaf%' AND relkind IN ('r', 'S')") == "0");
      CHECK(database.sql().value("SELECT count(*) FROM pg_proc WHERE proname LIKE 'leaf%'") == "0");
    }
  }
  CHECK(failures >= 5);
  CHECK(store.tags().empty());
}

TEST_CASE("migrate: it waits for another one no longer than the timeout, and works afterwards") {
  TestDatabase database;
  database.sql().run("BEGIN; SELECT pg_advisory_xact_lock(1818583398)");
  leaf::Store store({.url = database.url(), .timeout = std::chrono::milliseconds(300)});
  CHECK(error_of([&] { store.migrate(); }).code() == leaf::ErrorCode::unavailable);
  CHECK(database.sql().value("SELECT to_regclass('leaf_meta') IS NULL") == "t");

  // A lock_timeout ends the wait inside the open transaction, on a connection that stays.
  leaf::Store impatient(
      {.url = database.url("options='-c lock_timeout=1ms'"), .timeout = std::chrono::seconds(60)});
  const leaf::Error refused = error_of([&] { impatient.migrate(); });
  CHECK(refused.code() == leaf::ErrorCode::unavailable);
  CHECK(refused.sqlstate() == "55P03");
  database.sql().run("ROLLBACK");
  CHECK(!impatient.migrate().empty());
}

TEST_CASE("schema: a store without one is refused with what to do") {
  TestDatabase database;
  leaf::Store store({.url = database.url()});
  const leaf::Error none = error_of([&] { store.grant(order, 1); });
  CHECK(none.code() == leaf::ErrorCode::usage);
  CHECK(proposes(none, {.kind = leaf::Remedy::Kind::create_store}));

  // A table that Leaf's users made is no schema yet.
  database.sql().run(
      "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint, step integer)");
  CHECK(error_of([&] { store.tags(); }).code() == leaf::ErrorCode::usage);
}

TEST_CASE("schema: an older one, and one that asks for a later release, are refused") {
  TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();

  database.sql().run("UPDATE leaf_meta SET schema_version = 0");
  leaf::Store store({.url = database.url()});
  const leaf::Error older = error_of([&] { store.tags(); });
  CHECK(older.code() == leaf::ErrorCode::usage);
  CHECK(proposes(older, {.kind = leaf::Remedy::Kind::create_store}));

  database.sql().run("UPDATE leaf_meta SET schema_version = 1000, min_reader = 999, min_release = '9.1.0'");
  for (const leaf::Error& newer :
       {error_of([&] { store.tags(); }), error_of([&] { store.migrate(); }),
        error_of([&] { store.pending_migrations(); }), error_of([&] { store.migration_script(); })}) {
    CHECK(newer.code() == leaf::ErrorCode::usage);
    CHECK(std::string(newer.what()).find("version 1000, newer than this program's") != std::string::npos);
    CHECK(newer.hint().find("release 9.1.0 or later") != std::string::npos);
  }
}

TEST_CASE("schema: what a program knows is enough for a later one, and ends when its minimum is raised") {
  const leaf::test::TestRole role("LOGIN");
  TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  store.add_tag({.name = order});
  store.grant_runtime_role(role.name());
  const int newest = store.health().newest_schema_version;
  const int needed = store.health().minimum_reader;
  REQUIRE(needed > 0);
  database.sql().run("ALTER TABLE leaf_meta ADD COLUMN later text; UPDATE leaf_meta SET schema_version = " +
                     std::to_string(newest + 1));
  leaf::Store another({.url = database.url()});
  for (leaf::Store* one : {&store, &another}) {
    CHECK_NOTHROW(one->grant(order, 1));
    CHECK(one->migrate().empty());
    CHECK(one->migration_script().empty());
  }
  CHECK(another.health().schema_version == newest + 1);
  CHECK(another.health().minimum_reader == needed);
  // A later schema may have other triggers, keys, functions and another log: nobody misses those of this one.
  database.sql().run(
      "ALTER TRIGGER leaf_alloc_guarded ON leaf_alloc RENAME TO leaf_alloc_guarded_later;"
      "ALTER TRIGGER leaf_alloc_added ON leaf_alloc RENAME TO leaf_alloc_added_later;"
      "ALTER FUNCTION leaf_require_whole(oid) RENAME TO leaf_require_whole_later");
  CHECK(another.health().stopped_triggers.empty());
  CHECK(another.health().missing_events.empty());
  CHECK(another.migrate().empty());
  // It does not know all rights that later programs need.
  const leaf::Error rights = error_of([&] { another.grant_runtime_role(role.name()); });
  CHECK(rights.code() == leaf::ErrorCode::usage);
  CHECK(rights.hint().find("release that upgraded the store") != std::string::npos);
  // Nor does it replace functions that may be of a later release.
  const leaf::Error functions = error_of([&] { another.install_functions(); });
  CHECK(functions.code() == leaf::ErrorCode::usage);
  CHECK(functions.hint().find("release that upgraded the store") != std::string::npos);

  database.sql().run(fmt::format(
      "UPDATE leaf_meta SET schema_version = {0}, min_reader = {0}, min_release = '9.1.0'", newest + 2));
  leaf::WorkerRequest request;
  request.owner = "a";
  // Also over a connection that was opened before.
  for (const leaf::Error& refused :
       {error_of([&] { store.grant(order, 1); }), error_of([&] { another.grant_segment(order); }),
        error_of([&] { leaf::Store({.url = database.url()}).acquire_worker(request); })}) {
    CHECK(refused.code() == leaf::ErrorCode::usage);
    CHECK(refused.hint().find("release 9.1.0 or later") != std::string::npos);
  }
}

TEST_CASE("schema: the script for a DBA says what programs have to know, as the upgrade does") {
  TestDatabase by_program, by_hand;
  leaf::Store program({.url = by_program.url()}), hand({.url = by_hand.url()});
  program.migrate();
  by_hand.sql().run(hand.migration_script());
  const char* const reader = "SELECT min_reader, min_release FROM leaf_meta";
  CHECK(by_hand.sql().rows(reader) == by_program.sql().rows(reader));
  CHECK(hand.health().minimum_reader == program.health().minimum_reader);
}

TEST_CASE("schema: two deployments have two names") {
  TestDatabase one, two;
  leaf::Store first({.url = one.url()}), second({.url = two.url()});
  first.migrate();
  second.migrate();
  CHECK(first.identity() != second.identity());
}
