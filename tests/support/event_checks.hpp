#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "leaf/store.hpp"

namespace leaf::test {

/// "EVENT TAG: DETAIL" of each.
inline std::vector<std::string> texts_of(const std::vector<Event>& events) {
  std::vector<std::string> texts;
  for (const Event& event : events) {
    texts.push_back(event.event + " " + (event.worker ? std::to_string(*event.worker) : event.tag) + ": " +
                    event.detail);
  }
  return texts;
}

/// Grants from an empty store and changes it in every way, and checks that the changes alone are noted.
inline void check_that_changes_are_noted(Store& admin) {
  const TagName order("order");
  admin.add_tag({.name = order});
  for (int i = 0; i < 3; ++i) {
    admin.grant(order, 5);
    admin.grant_segment(order);
  }
  const WorkerLease lease = admin.acquire_worker({.owner = "web"});
  const WorkerLease renewed = admin.renew_worker(lease, {.owner = "web"});
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
}

/// Of an empty store: a tag has the times of its last change and of its last grant, and none of a grant
/// before.
inline void check_that_changes_and_grants_are_dated(Store& admin) {
  const TagName order("order");
  const Tag added = admin.add_tag({.name = order});
  CHECK_FALSE(added.granted_at);
  CHECK_FALSE(admin.tag(order).granted_at);
  admin.grant(order, 1);
  const Tag granted = admin.tag(order);
  CHECK(granted.updated_at == added.updated_at);
  REQUIRE(granted.granted_at);
  CHECK(*granted.granted_at >= added.updated_at);
  const Tag updated = admin.update_tag(order, {.step = 5});
  CHECK(updated.granted_at == granted.granted_at);
  CHECK(updated.updated_at >= *granted.granted_at);
}

/// Of an empty store.
inline void check_that_a_worker_given_back_is_not_noted(Store& admin) {
  const WorkerLease lease = admin.acquire_worker({.owner = "web"});
  CHECK(admin.give_up_worker(lease, lease.begin));
  CHECK(admin.events().empty());
}

}  // namespace leaf::test
