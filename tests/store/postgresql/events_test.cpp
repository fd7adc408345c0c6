#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "support/test_database.hpp"

using leaf::TagName;
using leaf::test::TestDatabase;

namespace {

/// "EVENT TAG: DETAIL" of each.
std::vector<std::string> texts_of(const std::vector<leaf::Event>& events) {
  std::vector<std::string> texts;
  for (const leaf::Event& event : events) {
    texts.push_back(event.event + " " + (event.worker ? std::to_string(*event.worker) : event.tag) + ": " +
                    event.detail);
  }
  return texts;
}

}  // namespace

TEST_CASE("postgresql events: what somebody changes is noted with who it was, and grants are not") {
  TestDatabase database;
  leaf::Store admin({.url = database.url()});
  admin.migrate();
  const TagName order("order");
  admin.add_tag({.name = order});
  for (int i = 0; i < 3; ++i) {
    admin.grant(order, 5);
    admin.grant_segment(order);
  }
  const leaf::WorkerLease lease = admin.acquire_worker({.owner = "web"});
  const leaf::WorkerLease renewed = admin.renew_worker(lease, {.owner = "web"});
  CHECK(admin.events().size() == 1);
  admin.update_tag(order, {.step = 7, .limit = 9999, .description = "x"});
  admin.update_tag(order, {.step = 7});
  admin.update_tag(order, {.raise_to = 5000});
  admin.remove_tag(order);
  admin.add_tag({.name = order});
  admin.release_workers("web");
  CHECK(texts_of(admin.events()) ==
        std::vector<std::string>{"add order: next_id 1, step 1000, limit none",
                                 "update order: step 1000 to 7, limit none to 9999, description",
                                 "raise order: next_id 3016 to 5000", "remove order: ",
                                 "add order: next_id 5000, step 1000, limit none", "free 0: of web"});
  for (const leaf::Event& event : admin.events()) {
    CHECK(event.who == database.sql().value("SELECT session_user"));
    CHECK(event.program == "leafctl");
  }
}

TEST_CASE("postgresql events: a holder that gives its own worker back is not noted") {
  TestDatabase database;
  leaf::Store admin({.url = database.url()});
  admin.migrate();
  const leaf::WorkerLease lease = admin.acquire_worker({.owner = "web"});
  CHECK(admin.give_up_worker(lease, lease.begin));
  CHECK(admin.events().empty());
}

TEST_CASE("postgresql events: no trigger runs for a grant, so that it takes no longer") {
  TestDatabase database;
  leaf::Store admin({.url = database.url()});
  admin.migrate();
  admin.add_tag({.name = TagName("order")});
  database.sql().run(
      "CREATE FUNCTION explained(text) RETURNS text LANGUAGE plpgsql AS "
      "$$ DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || $1 INTO plan; "
      "RETURN replace(plan -> 0 ->> 'Triggers', chr(10), ' '); END $$");
  CHECK(database.sql().value(
            "SELECT json_array_length(explained('UPDATE leaf_alloc SET max_id = max_id + 1, last_grant = 1, "
            "update_time = now()')::json)") == "0");
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
  CHECK(database.sql().value("SELECT has_function_privilege('" + role +
                             "', 'leaf_note_event(name, text, text, integer, text)', 'EXECUTE')") == "f");
  database.sql().run("DROP OWNED BY " + role);
}
