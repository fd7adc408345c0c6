#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "support/event_checks.hpp"
#include "support/test_database.hpp"

using leaf::TagName;
using leaf::test::TestDatabase;

TEST_CASE("postgresql events: what somebody changes is noted with who it was, and grants are not") {
  TestDatabase database;
  leaf::Store admin({.url = database.url()});
  admin.migrate();
  leaf::test::check_that_changes_are_noted(admin);
  for (const leaf::Event& event : admin.events()) {
    CHECK(event.who == database.sql().value("SELECT session_user"));
    CHECK(event.program == program_invocation_short_name);
  }
}

TEST_CASE("postgresql events: a program goes by its own name, by one that it chooses, or by the URL's") {
  TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();
  leaf::Store({.url = database.url(), .program = "billing"}).add_tag({.name = TagName("a")});
  leaf::Store({.url = database.url("application_name=shop"), .program = "billing"})
      .add_tag({.name = TagName("b")});
  leaf::Store store({.url = database.url()});
  store.add_tag({.name = TagName("c")});
  std::vector<std::string> programs;
  for (const leaf::Event& event : store.events()) programs.push_back(event.program);
  std::ranges::sort(programs);
  std::vector<std::string> wanted{"billing", program_invocation_short_name, "shop"};
  std::ranges::sort(wanted);
  CHECK(programs == wanted);
}

TEST_CASE("postgresql events: a tag is updated by who changes it, and granted by grants") {
  TestDatabase database;
  leaf::Store admin({.url = database.url()});
  admin.migrate();
  leaf::test::check_that_changes_and_grants_are_dated(admin);
}

TEST_CASE("postgresql events: a holder that gives its own worker back is not noted") {
  TestDatabase database;
  leaf::Store admin({.url = database.url()});
  admin.migrate();
  leaf::test::check_that_a_worker_given_back_is_not_noted(admin);
}

TEST_CASE("postgresql events: no trigger but the guard runs for a grant, so that it takes no longer") {
  TestDatabase database;
  leaf::Store admin({.url = database.url()});
  admin.migrate();
  admin.add_tag({.name = TagName("order")});
  database.sql().run(
      "CREATE FUNCTION explained(text) RETURNS text LANGUAGE plpgsql AS "
      "$$ DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || $1 INTO plan; "
      "RETURN replace(plan -> 0 ->> 'Triggers', chr(10), ' '); END $$");
  CHECK(database.sql().value(
            "SELECT string_agg(ran ->> 'Trigger Name', ' ') FROM json_array_elements(explained("
            "'UPDATE leaf_alloc SET max_id = max_id + 1, last_grant = 1, update_time = now()')::json) AS "
            "ran") == "leaf_alloc_guarded");
  CHECK(
      database.sql().value("SELECT explained('UPDATE leaf_alloc SET step = 5')").find("leaf_alloc_changed") !=
      std::string::npos);
}

TEST_CASE("postgresql events: a runtime role's release is noted, though it may not write there") {
  TestDatabase database;
  leaf::Store admin({.url = database.url()});
  admin.migrate();
  const leaf::test::TestRole runtime("LOGIN");
  const std::string& role = runtime.name();
  admin.grant_runtime_role(role);
  admin.acquire_worker({.owner = "web"});
  database.sql().run("SET SESSION AUTHORIZATION " + role +
                     "; UPDATE leaf_worker SET owner = NULL, token = NULL, held_after = held_after; "
                     "RESET SESSION AUTHORIZATION");
  const auto events = admin.events();
  REQUIRE(events.size() == 1);
  CHECK(events[0].who == role);
  for (const char* right : {"SELECT", "INSERT", "UPDATE", "DELETE"}) {
    CHECK(database.sql().value("SELECT has_table_privilege('" + role + "', 'leaf_event', '" + right + "')") ==
          "f");
  }
  database.sql().run("DROP OWNED BY " + role);
}

TEST_CASE(
    "postgresql events: nobody has them written to tables of his own, whose triggers the owner would run") {
  TestDatabase database;
  leaf::Store admin({.url = database.url()});
  admin.migrate();
  admin.add_tag({.name = TagName("order")});
  admin.grant(TagName("order"), 5);
  const leaf::test::TestRole other("LOGIN");
  const auto attack_by = [&other](const std::string& table) {
    return "SET SESSION AUTHORIZATION " + other.name() + "; CREATE TEMP TABLE " + table +
           " (biz_tag text, max_id bigint, step int, id_limit bigint, description text, removed_at "
           "timestamptz);"
           "CREATE TEMP TABLE leaf_event (event text, biz_tag text, worker_id int, detail text);"
           "CREATE FUNCTION pg_temp.mine() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
           " UPDATE public.leaf_meta SET guard_steps = 7; RETURN NULL; END $$;"
           "CREATE TRIGGER t AFTER INSERT ON leaf_event FOR EACH ROW EXECUTE FUNCTION pg_temp.mine();"
           "CREATE TRIGGER t AFTER INSERT ON " +
           table +
           " FOR EACH ROW EXECUTE FUNCTION public.leaf_record_event();"
           "INSERT INTO " +
           table + " VALUES ('a', 1, 1)";
  };
  CHECK_THROWS_WITH(database.sql().run(attack_by("x")), doctest::Contains("permission denied"));
  // As pg_restore leaves it without rights.
  database.sql().run("GRANT EXECUTE ON FUNCTION leaf_record_event() TO PUBLIC");
  for (const char* const table : {"x", "leaf_alloc", "leaf_worker"}) {
    CHECK_THROWS_WITH(database.sql().run(attack_by(table)), doctest::Contains("no table leaf_event of"));
  }
  CHECK(admin.guard_steps() == 100);
}

TEST_CASE("postgresql events: workers that are freed do not push out the changes of tags") {
  TestDatabase database;
  leaf::Store admin({.url = database.url()});
  admin.migrate();
  admin.add_tag({.name = TagName("order")});
  database.sql().run(
      "INSERT INTO leaf_event (event, worker_id, detail) SELECT 'free', n, '' FROM generate_series(1, 10005) "
      "n");
  const auto events = admin.events();
  CHECK(events.size() == 10'001);
  CHECK(events.front().event == "add");
  CHECK(events.at(1).worker == 6);
}

TEST_CASE("postgresql events: a runtime role gets no right on them, whatever is granted by default") {
  TestDatabase database;
  const leaf::test::TestRole runtime("LOGIN");
  const std::string& role = runtime.name();
  database.sql().run("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO " + role);
  leaf::Store admin({.url = database.url()});
  admin.migrate();
  const std::string may_write = "SELECT has_table_privilege('" + role + "', 'leaf_event', 'INSERT, TRIGGER')";
  CHECK(database.sql().value(may_write) == "t");
  admin.grant_runtime_role(role);
  CHECK(database.sql().value(may_write) == "f");
  database.sql().run("GRANT TRIGGER ON leaf_event TO PUBLIC");
  CHECK_THROWS_WITH(admin.grant_runtime_role(role), doctest::Contains("TRIGGER on leaf_event"));
  database.sql().run("DROP OWNED BY " + role);
}
