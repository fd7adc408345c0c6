#include <doctest/doctest.h>
#include <pwd.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "support/sqlite_store.hpp"

using leaf::TagName;
using leaf::test::SqliteStore;

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

TEST_CASE("events: what somebody changes is noted with who it was, and grants are not") {
  SqliteStore store;
  leaf::Store admin = store.open();
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
  const passwd* const user = getpwuid(geteuid());
  REQUIRE(user != nullptr);
  for (const leaf::Event& event : admin.events()) CHECK(event.who == user->pw_name);
}

TEST_CASE("events: a holder that gives its own worker back is not noted") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const leaf::WorkerLease lease = admin.acquire_worker({.owner = "web"});
  CHECK(admin.give_up_worker(lease, lease.begin));
  CHECK(admin.events().empty());
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
  const leaf::Tag added = admin.add_tag({.name = TagName("order")});
  CHECK_FALSE(added.granted_at);
  admin.grant(TagName("order"), 1);
  const leaf::Tag granted = admin.tag(TagName("order"));
  CHECK(granted.updated_at == added.updated_at);
  REQUIRE(granted.granted_at);
  CHECK(*granted.granted_at >= added.updated_at);
  const leaf::Tag updated = admin.update_tag(TagName("order"), {.step = 5});
  CHECK(updated.granted_at == granted.granted_at);
  CHECK(updated.updated_at >= *granted.granted_at);
}
