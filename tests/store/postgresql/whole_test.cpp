#include <doctest/doctest.h>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "leaf/tag_import.hpp"
#include "support/error_of.hpp"
#include "support/import_checks.hpp"
#include "support/is_waited_for.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"

using leaf::ErrorCode;
using leaf::Store;
using leaf::TagName;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;
using Action = leaf::TagImport::Action;

namespace {

/// A store with the tag `order`, and an import that raises it and adds 50 tags.
struct Import {
  Import() {
    store.migrate();
    store.add_tag({.name = TagName("order"), .start = 5});
    for (int i = 0; i < 50; ++i) tags.push_back({.name = TagName(fmt::format("u{}", i)), .next_id = 5});
    tags.push_back({.name = TagName("order"), .next_id = 700});
  }
  /// `statement` is run once, at the first change of a tag like `pattern`, also if that is rolled back.
  void strike(const std::string& statement, const std::string& trigger, const std::string& pattern) {
    database.sql().run(fmt::format(
        "CREATE SEQUENCE nth; CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql SET search_path FROM "
        "CURRENT AS $body$ BEGIN IF NEW.biz_tag LIKE '{}' AND nextval('nth') = 1 THEN {}; END IF;"
        " RETURN NEW; END $body$; CREATE {} ON leaf_alloc {} FOR EACH ROW EXECUTE FUNCTION strike()",
        pattern, statement, trigger.starts_with("CONSTRAINT") ? trigger : "TRIGGER strike " + trigger,
        trigger.starts_with("CONSTRAINT") ? "DEFERRABLE INITIALLY DEFERRED" : ""));
  }
  /// Imports while somebody is about to commit `change`, for which the import waits.
  void import_beside(const std::string& change) {
    SqlSession& other = database.sql();
    other.run("BEGIN; " + change);
    std::optional<ErrorCode> code;
    std::jthread importer([&] { code = error_code([&] { leaf::import_tags(tags, store); }); });
    CHECK(leaf::test::wait_for([&] { return leaf::test::is_waited_for(other); }));
    other.run("COMMIT");
    importer.join();
    CHECK(code == std::nullopt);
  }

  TestDatabase database;
  Store store{{.url = database.url(), .timeout = std::chrono::seconds(60)}};
  std::vector<leaf::ImportedTag> tags{};
};

}  // namespace

TEST_CASE_FIXTURE(Import, "import on PostgreSQL: one transaction adds and raises, and does nothing twice") {
  const leaf::ImportPlan done = leaf::import_tags(tags, store);
  CHECK(done.tags.front().action() == Action::add);
  CHECK(done.tags.back().action() == Action::raise);
  CHECK(store.tag(TagName("order")).next_id == 700);
  CHECK(database.sql().value("SELECT count(DISTINCT xmin::text) FROM leaf_alloc") == "1");
  for (const auto& tag : leaf::import_tags(tags, store).tags) CHECK(tag.action() == Action::nothing);
}

TEST_CASE_FIXTURE(Import,
                  "import on PostgreSQL: a removed tag that comes back is another one, so that nobody draws "
                  "what is left of it") {
  const leaf::TagName gone("gone");
  const std::string first = store.add_tag({.name = gone}).incarnation;
  store.remove_tag(gone);
  const std::vector<leaf::ImportedTag> back{{.name = gone, .next_id = 50}};
  leaf::import_tags(back, store);
  CHECK(store.tag(gone).next_id == 50);
  CHECK(store.tag(gone).incarnation != first);
}

TEST_CASE_FIXTURE(Import,
                  "import on PostgreSQL: a removed tag that comes back is as the file says, not as it was") {
  leaf::test::check_that_a_removed_tag_comes_back_as_told(store);
}

TEST_CASE_FIXTURE(Import,
                  "import on PostgreSQL: what the database refuses of one tag leaves all as they were") {
  strike("RAISE 'struck'", "BEFORE INSERT", "u33");
  CHECK(error_code([&] { leaf::import_tags(tags, store); }) == ErrorCode::refused);
  CHECK(store.tags().size() == 1);
  CHECK(store.tag(TagName("order")).next_id == 5);
}

TEST_CASE_FIXTURE(Import, "import on PostgreSQL: a conflict has all of it done again") {
  SUBCASE("a deadlock") {
    strike("RAISE 'struck' USING ERRCODE = '40P01'", "BEFORE INSERT", "u33");
  }
  SUBCASE("a tag that could not be added as planned") {
    strike("RETURN NULL", "BEFORE INSERT", "u33");
  }
  SUBCASE("a tag that could not be changed as planned") {
    strike("RETURN NULL", "BEFORE UPDATE", "order");
  }
  CHECK(leaf::import_tags(tags, store).tags.back().action() == Action::raise);
  CHECK(store.tags().size() == 51);
  CHECK(store.tag(TagName("order")).next_id == 700);
}

TEST_CASE_FIXTURE(Import, "import on PostgreSQL: what others do between plan and change is not undone") {
  SUBCASE("a tag that they add stays theirs") {
    import_beside("INSERT INTO leaf_alloc (biz_tag, step, id_limit) VALUES ('u33', 7, 100)");
    CHECK(store.tag(TagName("u33")).step == 7);
    CHECK(store.tag(TagName("u33")).limit == 100);
    CHECK(store.tag(TagName("u33")).next_id == 5);
  }
  SUBCASE("a tag of which they draw keeps the greater counter") {
    import_beside("UPDATE leaf_alloc SET max_id = 900 WHERE biz_tag = 'order'");
    CHECK(store.tag(TagName("order")).next_id == 900);
  }
  SUBCASE("a tag that they remove comes back") {
    import_beside("UPDATE leaf_alloc SET removed_at = now() WHERE biz_tag = 'order'");
    CHECK(store.tag(TagName("order")).next_id == 700);
  }
  SUBCASE("a removed tag that they add again lives on") {
    store.remove_tag(TagName("order"));
    tags.back().is_removed = true;
    import_beside(
        "UPDATE leaf_alloc SET removed_at = NULL, incarnation = gen_random_uuid() WHERE biz_tag = 'order'");
    CHECK(store.tag(TagName("order")).next_id == 700);
  }
}

TEST_CASE_FIXTURE(Import,
                  "import on PostgreSQL: after a commit that may not last all is committed once more") {
  strike("RAISE WARNING 'canceling wait for synchronous replication'",
         "CONSTRAINT TRIGGER strike AFTER UPDATE", "order");
  const leaf::ImportPlan done = leaf::import_tags(tags, store);
  CHECK(done.tags.front().action() == Action::add);
  CHECK(done.tags.back().action() == Action::raise);
  CHECK(database.sql().value("SELECT last_value FROM nth") == "2");
  CHECK(store.tags().size() == 51);
}

TEST_CASE_FIXTURE(Import, "import on PostgreSQL: removed tags are noted and raised, in the one transaction") {
  for (const char* name : {"low", "high", "again"}) store.add_tag({.name = TagName(name), .start = 50});
  for (const char* name : {"low", "high"}) store.remove_tag(TagName(name));
  for (const char* name : {"low", "high", "again", "new"})
    tags.push_back({.name = TagName(name), .next_id = name[0] == 'h' ? 5 : 701, .is_removed = true});
  SUBCASE("at once") {}
  SUBCASE("after one that could not be noted as planned") {
    strike("RETURN NULL", "BEFORE UPDATE", "new");
  }
  SUBCASE("once more after a commit that may not last") {
    strike("RAISE WARNING 'canceling wait for synchronous replication'",
           "CONSTRAINT TRIGGER strike AFTER UPDATE", "new");
  }
  const leaf::ImportPlan done = leaf::import_tags(tags, store);
  const auto action = [&](std::size_t from_end) { return done.tags[done.tags.size() - from_end].action(); };
  CHECK(action(4) == Action::raise);
  CHECK(action(3) == Action::nothing);
  CHECK(action(2) == Action::raise);
  CHECK(action(1) == Action::note);
  CHECK(done.tags.back().tag().is_removed);
  CHECK(database.sql().value("SELECT count(DISTINCT xmin::text) FROM leaf_alloc WHERE biz_tag <> 'high'") ==
        "1");
  CHECK(store.tags().size() == 52);
  CHECK(store.all_tags().size() == 55);
  CHECK(store.tag(TagName("again")).next_id == 701);
  CHECK(store.end_of_removed(TagName("high")) == 50);
  for (const char* name : {"low", "new"}) {
    CHECK(store.end_of_removed(TagName(name)) == 701);
    store.add_tag({.name = TagName(name)});
    CHECK(store.grant(TagName(name), 1).range.lo == 701);
  }
}

TEST_CASE_FIXTURE(Import, "import on PostgreSQL: nothing is changed where a crash may lose it") {
  database.sql().run("ALTER DATABASE " + database.name() + " SET synchronous_commit = off");
  Store fast({.url = database.url()});
  CHECK(error_code([&] { leaf::import_tags(tags, fast); }) == ErrorCode::refused);
  CHECK(store.tags().size() == 1);
}

TEST_CASE("new store on PostgreSQL: what cannot be set leaves none") {
  TestDatabase database;
  Store store({.url = database.url()});
  leaf::NewStore wanted;
  SUBCASE("workers beyond the layout") {
    wanted.workers = leaf::WorkerRange{0, 5000};
  }
  SUBCASE("a layout without leases") {
    wanted.layout = leaf::Layout::parse("1,62");
  }
  SUBCASE("a role that does not exist") {
    wanted.runtime_role = "no_such_role";
  }
  SUBCASE("a schema that does not exist") {
    wanted.functions = "no_such_schema";
  }
  SUBCASE("a guard below zero") {
    wanted.guard_steps = -1;
  }
  CHECK(error_code([&] { store.migrate({}, wanted); }) == ErrorCode::usage);
  CHECK(database.sql().value("SELECT count(*) FROM pg_class WHERE relname LIKE 'leaf%'") == "0");
  CHECK_FALSE(store.migrate().empty());
}

TEST_CASE("new store on PostgreSQL: the transaction that makes it sets what it leases") {
  TestDatabase database;
  Store store({.url = database.url()});
  store.migrate({}, {.layout = leaf::Layout::parse("43,4,16"),
                     .workers = leaf::WorkerRange{5, 7},
                     .guard_steps = 3,
                     .functions = ""});
  CHECK(store.worker_range() == leaf::WorkerRange{5, 7});
  CHECK(store.layout() == leaf::Layout::parse("43,4,16"));
  CHECK(store.guard_steps() == 3);
  CHECK(database.sql().value("SELECT count(DISTINCT x::text) FROM (SELECT xmin AS x FROM leaf_meta UNION ALL"
                             " SELECT xmin FROM pg_class WHERE oid = 'leaf_worker'::regclass"
                             " UNION ALL SELECT xmin FROM pg_proc WHERE proname = 'leaf_next') AS made") ==
        "1");
}
