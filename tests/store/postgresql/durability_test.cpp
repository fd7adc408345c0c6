#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "leaf/tag_import.hpp"
#include "support/error_of.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::TestDatabase;
using leaf::test::TestRole;

namespace {

const leaf::TagName order("order");

void set_up(const TestDatabase& database) {
  leaf::Store store({.url = database.url()});
  store.migrate();
  store.add_tag({.name = order, .step = {}, .start = {}, .limit = {}, .description = {}});
}

/// All that can be told of a store.
std::string contents(const TestDatabase& database) {
  leaf::test::SqlSession session(database.url());
  return session.value("SELECT string_agg(t::text, ' ' ORDER BY biz_tag) FROM leaf_alloc t") +
         session.value("SELECT m::text FROM leaf_meta m") +
         session.value("SELECT string_agg(w::text, ' ' ORDER BY worker_id) FROM leaf_worker w");
}

/// That nothing is granted by `url`, for a reason that names `named`, and nothing used up.
void require_refused(const TestDatabase& database, const std::string& url,
                     const std::string& named = "synchronous_commit") {
  const std::string before = contents(database);
  leaf::Store store({.url = url});
  for (const leaf::Error& error :
       {error_of([&] { store.grant(order, 1); }), error_of([&] { store.grant_segment(order); }),
        error_of([&] { store.acquire_worker({.owner = "a"}); }),
        error_of([&] { store.acquire_worker({.owner = "a", .worker = 7}); })}) {
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(std::string(error.what()).find(named) != std::string::npos);
    CHECK(!error.hint().empty());
  }
  CHECK(contents(database) == before);
}

}  // namespace

TEST_CASE("durability: synchronous_commit=off is refused, wherever it comes from") {
  TestDatabase database;
  set_up(database);
  SUBCASE("from the role") {
    const TestRole role("LOGIN SUPERUSER PASSWORD 'right'");
    database.sql().run("ALTER ROLE " + role.name() + " SET synchronous_commit = off");
    require_refused(database, database.url("user=" + role.name() + " password=right"));
  }
  SUBCASE("from the database") {
    database.sql().run("ALTER DATABASE " + database.name() + " SET synchronous_commit = off");
    require_refused(database, database.url());
  }
  SUBCASE("from the connection's options, as PGOPTIONS sets them") {
    require_refused(database, database.url("options='-c synchronous_commit=off'"));
  }
}

TEST_CASE("durability: what administration changes is refused as a grant is, and stays as it was") {
  TestDatabase database;
  set_up(database);
  leaf::Store owner({.url = database.url()});
  leaf::WorkerRequest brief{.owner = "a"};
  brief.window = std::chrono::milliseconds(1);
  owner.acquire_worker(brief);
  const leaf::TagName removed("removed");
  owner.add_tag({.name = removed, .step = {}, .start = {}, .limit = {}, .description = {}});
  owner.remove_tag(removed);
  const std::string before = contents(database);
  std::string option;
  std::string named = "synchronous_commit";
  SUBCASE("commits that a crash loses") {
    option = "synchronous_commit=off";
  }
  SUBCASE("warnings that are not sent") {
    option = "client_min_messages=error";
  }
  SUBCASE("triggers that do not run") {
    option = "session_replication_role=replica";
    named = "session_replication_role";
  }
  leaf::Store store({.url = database.url("options='-c " + option + "'")});
  for (const leaf::Error& error : {
           error_of([&] {
             store.add_tag(
                 {.name = leaf::TagName("new"), .step = {}, .start = {}, .limit = {}, .description = {}});
           }),
           error_of([&] {
             store.add_tag({.name = removed, .step = {}, .start = {}, .limit = {}, .description = {}});
           }),
           error_of([&] { store.update_tag(order, {.raise_to = 1'000'000}); }),
           error_of([&] { store.update_tag(order, {.step = 20}); }),
           error_of([&] { store.remove_tag(order); }),
           error_of([&] { leaf::import_tags({{.name = leaf::TagName("new"), .next_id = 1}}, store); }),
           error_of([&] { leaf::import_tags({{.name = order, .next_id = 1'000'000}}, store); }),
           error_of([&] {
             leaf::import_tags({{.name = removed, .next_id = 1'000'000, .is_removed = true}}, store);
           }),
           error_of([&] { store.set_guard_steps(5); }),
           error_of([&] { store.begin_new_deployment(store.identity().deployment); }),
           error_of([&] { store.set_layout(store.layout()); }),
           error_of([&] {
             store.set_worker_range(leaf::WorkerRange{0, 5});
           }),
           error_of([&] { store.recycle_worker(0, true); }),
           error_of([&] { store.release_workers("a", {}); }),
           error_of([&] { store.recycle_silent_workers(std::chrono::milliseconds(0)); }),
       }) {
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(std::string(error.what()).find(named) != std::string::npos);
    CHECK(error.hint().find("PGOPTIONS") != std::string::npos);
  }
  CHECK(contents(database) == before);
  // What is not there is still said to be so.
  CHECK(error_of([&] { store.remove_tag(leaf::TagName("nowhere")); }).code() == leaf::ErrorCode::not_found);
}

TEST_CASE("durability: in the role of a replica, in which no trigger runs, nothing is granted") {
  TestDatabase database;
  set_up(database);
  require_refused(database, database.url("options='-c session_replication_role=replica'"),
                  "session_replication_role");
  leaf::Store local({.url = database.url("options='-c session_replication_role=local'")});
  CHECK(local.grant(order, 1).range.lo == 1);
}

TEST_CASE("durability: any other synchronous_commit is accepted") {
  TestDatabase database;
  set_up(database);
  std::int64_t next = 1;
  for (const std::string mode : {"on", "local", "remote_write", "remote_apply"}) {
    leaf::Store store({.url = database.url("options='-c synchronous_commit=" + mode + "'")});
    CHECK(store.grant(order, 1).range == leaf::Range{next, next + 1});
    ++next;
  }
}

TEST_CASE("durability: no failover is settled in a table that a crash would empty") {
  for (const std::string table : {"leaf_alloc", "leaf_meta"}) {
    CAPTURE(table);
    TestDatabase database;
    set_up(database);
    leaf::Store administrator({.url = database.url()});
    const leaf::Failover seen = administrator.failover();  // it has looked at the tables
    database.sql().run("ALTER TABLE " + table + " SET UNLOGGED");
    const leaf::Error error =
        error_of([&] { administrator.settle_failover(seen, leaf::Commits::may_be_lost); });
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(error.hint().find("SET LOGGED") != std::string::npos);
  }
}

TEST_CASE("durability: a table that a crash would empty is refused until it is logged") {
  TestDatabase database;
  set_up(database);
  leaf::Store administrator({.url = database.url()});
  CHECK(administrator.tags().size() == 1);  // it has looked at the tables
  database.sql().run("ALTER TABLE leaf_alloc SET UNLOGGED");
  const std::string before = contents(database);
  const leaf::Error error = error_of([&] { leaf::Store({.url = database.url()}).grant(order, 1); });
  CHECK(contents(database) == before);
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(error.hint().find("SET LOGGED") != std::string::npos);
  for (const leaf::Error& refused : {
           error_of([&] { administrator.update_tag(order, {.raise_to = 1'000'000}); }),
           error_of([&] { administrator.add_tag({.name = leaf::TagName("new")}); }),
           error_of([&] { administrator.remove_tag(order); }),
       }) {
    CHECK(refused.code() == leaf::ErrorCode::refused);
    CHECK(refused.hint().find("SET LOGGED") != std::string::npos);
  }
  database.sql().run("ALTER TABLE leaf_alloc SET LOGGED");
  CHECK(leaf::Store({.url = database.url()}).grant(order, 1).range == leaf::Range{1, 2});
}
