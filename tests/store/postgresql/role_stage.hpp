#pragma once

#include <string>

#include "leaf/store.hpp"
#include "support/test_database.hpp"

namespace leaf::test {

/// A store with a tag, and a role that can log in. The role goes last: it has rights in the database.
struct RoleStage {
  TestRole role{"LOGIN PASSWORD 'right'"};
  TestDatabase database;
  Store owner{{.url = database.url()}};

  RoleStage() {
    owner.migrate();
    owner.add_tag({.name = TagName("order"), .step = 10, .start = {}, .limit = {}, .description = {}});
  }
  std::string role_url() const { return database.url("user=" + role.name() + " password=right"); }
};

}  // namespace leaf::test
