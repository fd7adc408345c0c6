#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "store/postgresql/role_stage.hpp"
#include "support/error_of.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::SqlSession;
using leaf::test::TestRole;

namespace {

const leaf::TagName order("order");

using Stage = leaf::test::RoleStage;

bool can(SqlSession& session, const std::string& statement) {
  try {
    session.run(statement);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

TEST_CASE("runtime role: it draws, leases and looks, and does nothing else") {
  Stage stage;
  stage.owner.grant(order, 100);
  stage.owner.grant_runtime_role(stage.role.name());
  leaf::Store runtime({.url = stage.role_url()});
  CHECK(runtime.grant(order, 5).range == leaf::Range{101, 106});
  CHECK(runtime.grant_segment(order).range == leaf::Range{106, 116});
  CHECK(runtime.tag(order).next_id == 116);
  leaf::WorkerLease lease = runtime.acquire_worker({.owner = "a"});
  lease = runtime.renew_worker(lease, {.owner = "a"});
  CHECK(runtime.give_up_worker(lease, lease.begin));
  lease = runtime.acquire_worker({.owner = "c"});
  CHECK(runtime.release_worker(lease, lease.begin));
  runtime.acquire_worker({.owner = "b", .worker = 7});
  runtime.recycle_worker(7, true);
  CHECK(runtime.recycle_silent_workers(std::chrono::milliseconds(0)).size() <= 1);

  for (const leaf::Error& refused :
       {error_of([&] { runtime.update_tag(order, {.step = 20}); }),
        error_of([&] { runtime.update_tag(order, {.raise_to = 1000}); }),
        error_of([&] { runtime.remove_tag(order); }), error_of([&] {
          runtime.add_tag(
              {.name = leaf::TagName("x"), .step = {}, .start = {}, .limit = {}, .description = {}});
        }),
        error_of([&] { runtime.set_layout(leaf::Layout::parse("twitter")); })}) {
    CHECK(refused.code() == leaf::ErrorCode::usage);
    CHECK(refused.sqlstate() == "42501");
  }
  SqlSession session(stage.role_url());
  CHECK_FALSE(can(session, "UPDATE leaf_alloc SET step = 20"));
  CHECK_FALSE(can(session, "UPDATE leaf_alloc SET max_id = 1"));
  CHECK_FALSE(can(session, "DELETE FROM leaf_worker"));
  CHECK_FALSE(can(session, "UPDATE leaf_meta SET layout = 'x'"));
  CHECK(stage.owner.tag(order).step == 10);
}

TEST_CASE("runtime role: what it had before is revoked, and asking again changes nothing") {
  Stage stage;
  stage.database.sql().run("GRANT ALL ON leaf_alloc, leaf_worker, leaf_meta TO " + stage.role.name());
  stage.owner.grant_runtime_role(stage.role.name());
  stage.owner.grant_runtime_role(stage.role.name());
  SqlSession session(stage.role_url());
  CHECK_FALSE(can(session, "UPDATE leaf_alloc SET step = 20"));
  CHECK_FALSE(can(session, "DELETE FROM leaf_alloc WHERE false"));
  CHECK(can(session, "UPDATE leaf_alloc SET max_id = max_id"));
}

TEST_CASE("runtime role: rights that come by another way are refused by name") {
  Stage stage;
  const TestRole group("NOLOGIN");
  stage.database.sql().run("GRANT " + group.name() + " TO " + stage.role.name());
  struct Way {
    std::string right, named;
  };
  for (const Way& way : {Way{"UPDATE (step) ON leaf_alloc", "UPDATE of leaf_alloc.step"},
                         {"INSERT ON leaf_alloc", "INSERT on leaf_alloc"},
                         {"DELETE ON leaf_alloc", "DELETE on leaf_alloc"},
                         {"TRUNCATE ON leaf_alloc", "TRUNCATE on leaf_alloc"},
                         {"TRIGGER ON leaf_alloc", "TRIGGER on leaf_alloc"},
                         {"INSERT ON leaf_event", "INSERT on leaf_event"},
                         {"DELETE ON leaf_event", "DELETE on leaf_event"}}) {
    CAPTURE(way.right);
    stage.database.sql().run("GRANT " + way.right + " TO " + group.name());
    const leaf::Error error = error_of([&] { stage.owner.grant_runtime_role(stage.role.name()); });
    stage.database.sql().run("REVOKE " + way.right + " FROM " + group.name());
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(std::string(error.what()).ends_with("can do more than it needs: " + way.named));
  }
}

TEST_CASE(
    "runtime role: who could replace the store's functions as an owner of the schema is refused, and is "
    "named") {
  Stage stage;
  SqlSession& sql = stage.database.sql();
  const TestRole group("NOLOGIN");
  const std::string owner = sql.value("SELECT quote_ident(current_user)");
  const std::string role = stage.role.name();
  const std::string mended = "ALTER SCHEMA public OWNER TO " + owner;
  std::vector<std::string> ways{
      "ALTER SCHEMA public OWNER TO " + role,
      "GRANT " + group.name() + " TO " + role + "; ALTER SCHEMA public OWNER TO " + group.name()};
  // The owner of the database, by way of a role that has no other member.
  if (stage.database.server_version() >= 14)
    ways.push_back("ALTER SCHEMA public OWNER TO pg_database_owner; ALTER DATABASE " + stage.database.name() +
                   " OWNER TO " + role);
  const auto owners = [&] { return stage.owner.health().schema_owners; };
  CHECK(owners().empty());
  for (const std::string& way : ways) {
    CAPTURE(way);
    sql.run("DROP OWNED BY " + role);
    sql.run(way);
    const bool is_group = way.starts_with("GRANT");
    // Also before anything is given to it: whoever owns the schema can do so.
    CHECK(owners() == std::vector<std::string>{is_group ? group.name() : role});
    const leaf::Error error = error_of([&] { stage.owner.grant_runtime_role(role); });
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(std::string(error.what())
              .ends_with("role '" + role +
                         "' can do more than it needs: it owns schema public, or is a member of the owner"));
    CHECK(error.hint() == "as a superuser, run '" + mended + "'");
    CHECK_THROWS(sql.run(stage.owner.runtime_role_script(role)));
    sql.run("ROLLBACK");
    SqlSession session(stage.role_url());
    CHECK_FALSE(can(session, "UPDATE leaf_alloc SET max_id = max_id"));
    sql.run(mended);
    CHECK(owners().empty());
    stage.owner.grant_runtime_role(role);
    CHECK_FALSE(can(session, "DROP FUNCTION leaf_require_durable(oid)"));
    // It comes to own it later.
    sql.run(way);
    CHECK(std::ranges::count(owners(), role) == 1);
    CHECK(stage.owner.health().schema == "public");
    CHECK(stage.owner.health().table_owner == owner);
    CHECK(stage.owner.health().schema_creators.empty());
    sql.run(mended);
    CHECK(owners().empty());
  }
  sql.run("DROP OWNED BY " + role);
}

TEST_CASE("runtime role: who may create in the schema of the store is named, everybody too") {
  Stage stage;
  const std::string role = stage.role.name();
  CHECK(stage.owner.health().schema_creators.empty());
  stage.database.sql().run("GRANT CREATE ON SCHEMA public TO PUBLIC, " + role);
  std::vector<std::string> creators = stage.owner.health().schema_creators;
  std::ranges::sort(creators);
  CHECK(creators == std::vector<std::string>{"PUBLIC", role});
  stage.database.sql().run("DROP OWNED BY " + role);
}

TEST_CASE("runtime role: who owns the tables, or is nobody, is refused and loses nothing") {
  Stage stage;
  const std::string owner = stage.database.sql().value("SELECT current_user");
  CHECK(error_of([&] { stage.owner.grant_runtime_role(owner); }).code() == leaf::ErrorCode::usage);
  CHECK(error_of([&] { stage.owner.grant_runtime_role("nobody at all"); }).code() == leaf::ErrorCode::usage);
  for (const std::string& name : {std::string(), std::string("public"), std::string(64, 'x')}) {
    CHECK(error_of([&] { stage.owner.runtime_role_script(name); }).code() == leaf::ErrorCode::usage);
  }
  CHECK(stage.owner.update_tag(order, {.step = 20}).step == 20);
  // The owner of the tables need not be a superuser.
  for (const char* table : {"leaf_alloc", "leaf_worker", "leaf_meta"}) {
    stage.database.sql().run(std::string("ALTER TABLE ") + table + " OWNER TO " + stage.role.name());
  }
  CHECK(error_of([&] { stage.owner.grant_runtime_role(stage.role.name()); }).code() ==
        leaf::ErrorCode::usage);
  SqlSession session(stage.role_url());
  CHECK(can(session, "UPDATE leaf_alloc SET step = 30"));
}
