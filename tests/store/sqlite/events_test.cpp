#include <doctest/doctest.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "support/event_checks.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"

using leaf::TagName;
using leaf::test::SqliteStore;

TEST_CASE("events: what somebody changes is noted with who it was, and grants are not") {
  SqliteStore store;
  leaf::Store admin = store.open();
  leaf::test::check_that_changes_are_noted(admin);
  const passwd* const user = getpwuid(geteuid());
  REQUIRE(user != nullptr);
  for (const leaf::Event& event : admin.events()) CHECK(event.who == user->pw_name);
}

TEST_CASE("events: a holder that gives its own worker back is not noted") {
  SqliteStore store;
  leaf::Store admin = store.open();
  leaf::test::check_that_a_worker_given_back_is_not_noted(admin);
}

TEST_CASE("events: of one tag, and since a time") {
  SqliteStore store;
  leaf::Store admin = store.open();
  admin.add_tag({.name = TagName("a")});
  admin.add_tag({.name = TagName("b")});
  REQUIRE(admin.events(TagName("b")).size() == 1);
  const leaf::UnixTime time = admin.events(TagName("b"))[0].time;
  CHECK(admin.events(TagName("b"), time).size() == 1);
  CHECK(admin.events(TagName("b"), time + std::chrono::milliseconds(1)).empty());
}

TEST_CASE("events: a tag is updated by who changes it, and granted by grants") {
  SqliteStore store;
  leaf::Store admin = store.open();
  leaf::test::check_that_changes_and_grants_are_dated(admin);
}

TEST_CASE("events: what is changed by hand is noted, and nobody is named for it") {
  SqliteStore store;
  leaf::Store admin = store.open();
  admin.add_tag({.name = TagName("order")});
  leaf::test::SqliteSession by_hand(store.path());
  REQUIRE(by_hand.run("UPDATE leaf_alloc SET step = 7"));
  admin.remove_tag(TagName("order"));
  REQUIRE(by_hand.run("UPDATE leaf_alloc SET removed_at = NULL"));
  std::vector<std::string> nobodys;
  for (const leaf::Event& event : admin.events(TagName("order")))
    if (event.who.empty()) nobodys.push_back(event.event);
  std::ranges::sort(nobodys);
  CHECK(nobodys == std::vector<std::string>{"add", "update"});
}
