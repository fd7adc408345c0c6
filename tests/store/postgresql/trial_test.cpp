#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "leaf/error.hpp"
#include "leaf/health.hpp"
#include "leaf/store.hpp"
#include "store/postgresql/role_stage.hpp"
#include "support/error_of.hpp"
#include "support/sql_verdict.hpp"

using leaf::test::error_of;

namespace {

const leaf::TagName order("order");

struct Stage : leaf::test::RoleStage {
  Stage() {
    owner.grant(order, 1);
    owner.acquire_worker({.owner = "a"});
    owner.grant_runtime_role(role.name());
  }
  ~Stage() { database.sql().run("DROP OWNED BY " + role.name()); }
  leaf::StoreHealth health() const { return leaf::Store({.url = role_url()}).health(); }
  /// All that a grant or a lease could change.
  std::string rows() {
    return database.sql().value(
        "SELECT concat((SELECT string_agg(t::text, ';') FROM leaf_alloc t),"
        " (SELECT string_agg(w::text, ';' ORDER BY worker_id) FROM leaf_worker w), (SELECT m::text FROM "
        "leaf_meta m),"
        " (SELECT count(*) FROM leaf_event))");
  }
};

constexpr const char* raises =
    "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no IDs today''; "
    "END';";
constexpr const char* swallows =
    "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';";

constexpr const char* returns_old =
    "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';";
constexpr const char* alters =
    "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.max_id := OLD.max_id; RETURN NEW; "
    "END';";

struct Case {
  std::string put;
  std::string undo;
  std::string why;
};
const Case of_tags[] = {
    {"ALTER TABLE leaf_alloc ADD CONSTRAINT odd CHECK (max_id < 12) NOT VALID",
     "ALTER TABLE leaf_alloc DROP CONSTRAINT odd", "constraint \"odd\""},
    {std::string(raises) + "CREATE TRIGGER odd AFTER UPDATE ON leaf_alloc EXECUTE FUNCTION odd()",
     "DROP FUNCTION odd CASCADE", "no IDs today"},
    // Fails at the commit alone.
    {std::string(raises) +
         "CREATE CONSTRAINT TRIGGER odd AFTER UPDATE ON leaf_alloc DEFERRABLE INITIALLY DEFERRED"
         " FOR EACH ROW EXECUTE FUNCTION odd()",
     "DROP FUNCTION odd CASCADE", "no IDs today"},
    {std::string(swallows) +
         "CREATE TRIGGER odd BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION odd()",
     "DROP FUNCTION odd CASCADE", "discards changes"},
    {std::string(returns_old) +
         "CREATE TRIGGER odd BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION odd()",
     "DROP FUNCTION odd CASCADE", "puts back"},
    {std::string(alters) +
         "CREATE TRIGGER z_odd BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION odd()",
     "DROP FUNCTION odd CASCADE", "puts back"},
    {"CREATE PUBLICATION odd FOR TABLE leaf_alloc; ALTER TABLE leaf_alloc REPLICA IDENTITY NOTHING",
     "DROP PUBLICATION odd", "replica identity"},
};
const Case of_workers[] = {
    {"ALTER TABLE leaf_worker ADD CONSTRAINT odd CHECK (window_end < 5) NOT VALID",
     "ALTER TABLE leaf_worker DROP CONSTRAINT odd", "constraint \"odd\""},
    {std::string(raises) +
         "CREATE TRIGGER odd BEFORE INSERT ON leaf_worker FOR EACH ROW EXECUTE FUNCTION odd()",
     "DROP FUNCTION odd CASCADE", "no IDs today"},
    {std::string(raises) +
         "CREATE TRIGGER odd BEFORE UPDATE ON leaf_worker FOR EACH ROW EXECUTE FUNCTION odd()",
     "DROP FUNCTION odd CASCADE", "no IDs today"},
    {std::string(raises) +
         "CREATE TRIGGER odd BEFORE UPDATE ON leaf_meta FOR EACH ROW EXECUTE FUNCTION odd()",
     "DROP FUNCTION odd CASCADE", "no IDs today"},
    {std::string(swallows) +
         "CREATE TRIGGER odd BEFORE UPDATE ON leaf_worker FOR EACH ROW EXECUTE FUNCTION odd()",
     "DROP FUNCTION odd CASCADE", "discards changes"},
    {std::string(returns_old) +
         "CREATE TRIGGER odd BEFORE UPDATE ON leaf_worker FOR EACH ROW EXECUTE FUNCTION odd()",
     "DROP FUNCTION odd CASCADE", "puts back"},
};

void check_told(const std::optional<leaf::RefusedTrial>& trial, const std::string& why) {
  REQUIRE(trial);
  CHECK(trial->error.code() == leaf::ErrorCode::refused);
  CHECK_MESSAGE(std::string(trial->error.what()).find(why) != std::string::npos, trial->error.what());
  CHECK(!trial->error.hint().empty());
}

}  // namespace

TEST_CASE(
    "postgresql: a store's health tells what somebody has put on the tags' table, and changes nothing") {
  Stage stage;
  for (const Case& one : of_tags) {
    CAPTURE(one.put);
    CHECK(!stage.health().refused_grant);
    stage.database.sql().run(one.put);
    const std::string before = stage.rows();
    const leaf::StoreHealth health = stage.health();
    check_told(health.refused_grant, one.why);
    CHECK(health.refused_grant->tag == "order");
    CHECK(!health.refused_lease);
    CHECK(stage.rows() == before);
    leaf::Store store({.url = stage.role_url(), .timeout = {}});
    // Where the row is altered while it is written, only a trial shows it.
    if (one.put.find("z_odd") == std::string::npos)
      CHECK(error_of([&] { store.grant(order, 10); }).code() != leaf::ErrorCode::failed);
    stage.database.sql().run(one.undo);
    CHECK(stage.owner.grant_segment(order).range.hi > 0);
  }
}

TEST_CASE(
    "postgresql: a store's health tells what somebody has put on the workers' table, and changes nothing") {
  Stage stage;
  for (const Case& one : of_workers) {
    CAPTURE(one.put);
    CHECK(!stage.health().refused_lease);
    stage.database.sql().run(one.put);
    const std::string before = stage.rows();
    const leaf::StoreHealth health = stage.health();
    check_told(health.refused_lease, one.why);
    CHECK(!health.refused_grant);
    CHECK(stage.rows() == before);
    stage.database.sql().run(one.undo);
  }
}

TEST_CASE("postgresql: of a store that is well, health changes nothing") {
  Stage stage;
  const std::string before = stage.rows();
  const leaf::StoreHealth health = stage.health();
  CHECK(!health.refused_grant);
  CHECK(!health.refused_lease);
  CHECK(stage.rows() == before);
}

TEST_CASE(
    "postgresql: what a runtime role may do to a worker is nothing that somebody has put on the table") {
  Stage stage;
  leaf::test::SqlSession(stage.role_url())
      .run("UPDATE leaf_worker SET token = gen_random_uuid(), held_after = window_end");
  CHECK(!stage.health().refused_lease);
  CHECK(stage.owner.acquire_worker({.owner = "b"}).worker == 1);
}

TEST_CASE("postgresql: where a trigger puts the old row back, nobody is granted it a second time") {
  Stage stage;
  stage.owner.install_functions("public");
  const leaf::WorkerLease lease = stage.owner.acquire_worker({.owner = "b"});
  CHECK(stage.owner.give_up_worker(lease, lease.begin));
  stage.database.sql().run(
      std::string(returns_old) +
      "CREATE TRIGGER odd BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION odd();"
      "CREATE TRIGGER odd BEFORE UPDATE ON leaf_worker FOR EACH ROW EXECUTE FUNCTION odd()");
  // Of another host, which knows nothing of what was granted before.
  leaf::Store store({.url = stage.role_url()});
  const leaf::Error of_tag = error_of([&] { store.grant(order, 1); });
  CHECK(of_tag.code() == leaf::ErrorCode::refused);
  CHECK(of_tag.hint() ==
        "drop the trigger on table leaf_alloc or leaf_worker whose name does not begin with 'leaf_'");
  CHECK(error_of([&] { store.grant_segment(order); }).code() == leaf::ErrorCode::refused);
  CHECK(error_of([&] { stage.owner.update_tag(order, {.raise_to = 1000}); }).code() ==
        leaf::ErrorCode::refused);
  CHECK(error_of([&] { store.acquire_worker({.owner = "b"}); }).code() == leaf::ErrorCode::refused);
  CHECK(leaf::test::verdict(stage.database.sql(), "SELECT leaf_next('order')")
            .starts_with("LF002|a trigger puts back"));
  stage.database.sql().run("DROP FUNCTION odd CASCADE");
  CHECK(store.grant(order, 1).range.lo > 1);
}

TEST_CASE("postgresql: where a trigger alters how many IDs were granted, none are given out") {
  Stage stage;
  stage.owner.grant(order, 100);
  stage.database.sql().run(
      "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.last_grant := 15; RETURN NEW; "
      "END';"
      "CREATE TRIGGER z_odd BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION odd()");
  leaf::Store store({.url = stage.role_url()});
  const leaf::Error error = error_of([&] { store.grant(order, 5); });
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(error.hint() == "drop the trigger on table leaf_alloc that alters last_grant");
  CHECK(error_of([&] { store.grant_segment(order); }).code() == leaf::ErrorCode::refused);
  stage.database.sql().run("DROP FUNCTION odd CASCADE");
  CHECK(store.grant(order, 5).range.size() == 5);
}
