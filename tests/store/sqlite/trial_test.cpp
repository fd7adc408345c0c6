#include <doctest/doctest.h>

#include <string>

#include "leaf/error.hpp"
#include "leaf/health.hpp"
#include "leaf/store.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"

namespace {

struct Case {
  std::string table;
  std::string trigger;
  std::string why;
};
const Case cases[] = {
    {"leaf_alloc", "BEFORE UPDATE ON leaf_alloc BEGIN SELECT RAISE(ABORT, 'no IDs today'); END",
     "no IDs today"},
    {"leaf_alloc", "AFTER UPDATE ON leaf_alloc BEGIN SELECT RAISE(ROLLBACK, 'no IDs today'); END",
     "no IDs today"},
    {"leaf_alloc", "BEFORE UPDATE ON leaf_alloc BEGIN SELECT RAISE(IGNORE); END", "discards changes"},
    {"leaf_worker", "BEFORE INSERT ON leaf_worker BEGIN SELECT RAISE(ABORT, 'no IDs today'); END",
     "no IDs today"},
    {"leaf_worker", "BEFORE UPDATE ON leaf_worker BEGIN SELECT RAISE(FAIL, 'no IDs today'); END",
     "no IDs today"},
    {"leaf_worker", "BEFORE UPDATE ON leaf_worker BEGIN SELECT RAISE(IGNORE); END", "discards changes"},
};

/// All that a grant or a lease could change.
std::string rows(leaf::test::SqliteSession& session) {
  std::string all;
  for (const char* table : {"leaf_alloc", "leaf_worker", "leaf_meta", "leaf_event"})
    all += session.value(std::string("SELECT group_concat(json_array(") +
                         session.value(std::string("SELECT group_concat(name) FROM pragma_table_info('") +
                                       table + "')") +
                         ")) FROM " + table) +
           "\n";
  return all;
}

}  // namespace

TEST_CASE("sqlite: a store's health tells what somebody has put on its tables, and changes nothing") {
  const leaf::test::SqliteStore file;
  leaf::Store store = file.open();
  leaf::test::add_tag(store, "order", 50);
  store.grant(leaf::TagName("order"), 1);
  store.acquire_worker({.owner = "a"});
  leaf::test::SqliteSession session(file.path());
  for (const Case& one : cases) {
    CAPTURE(one.trigger);
    session.run("CREATE TRIGGER odd " + one.trigger);
    const std::string before = rows(session);
    const leaf::StoreHealth health = file.open().health();
    const bool is_of_tags = one.table == "leaf_alloc";
    CHECK(health.refused_grant.has_value() == is_of_tags);
    CHECK(health.refused_lease.has_value() == !is_of_tags);
    const auto& told = is_of_tags ? health.refused_grant : health.refused_lease;
    REQUIRE(told);
    CHECK(told->tag == (is_of_tags ? "order" : ""));
    if (one.why == "discards changes")
      CHECK(told->error.hint() ==
            "drop the trigger on table " + one.table + " whose name does not begin with 'leaf_'");
    CHECK(told->error.code() == leaf::ErrorCode::refused);
    CHECK_MESSAGE(std::string(told->error.what()).find(one.why) != std::string::npos, told->error.what());
    CHECK(rows(session) == before);
    session.run("DROP TRIGGER odd");
    CHECK(!file.open().health().refused_grant);
    CHECK(!file.open().health().refused_lease);
    CHECK(rows(session) == before);
  }
}
