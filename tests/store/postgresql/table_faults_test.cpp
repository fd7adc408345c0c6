#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "leaf/error.hpp"
#include "leaf/health.hpp"
#include "leaf/store.hpp"
#include "store/postgresql/role_stage.hpp"
#include "support/error_of.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::TestRole;

namespace {

const leaf::TagName order("order");

/// The role is a runtime role; the owner is a superuser.
struct Stage : leaf::test::RoleStage {
  Stage() { owner.grant_runtime_role(role.name()); }
  ~Stage() { database.sql().run("DROP OWNED BY " + role.name()); }
  leaf::Store runtime() const { return leaf::Store({.url = role_url()}); }
  std::string leases_from() { return database.sql().value("SELECT leases_from FROM leaf_meta"); }

  /// The statement in the hint's quotes is run.
  void follow(const leaf::Error& error) {
    const std::string hint = error.hint();
    const auto begin = hint.find('\'') + 1;
    database.sql().run(hint.substr(begin, hint.rfind('\'') - begin));
  }
};

void check_told(const leaf::Error& error, const std::string& what) {
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(std::string(error.what()).find(what) != std::string::npos);
}

void check_told(const leaf::StoreHealth& health, const std::string& what, bool stops_grants) {
  const auto found = std::ranges::find(health.table_faults, what, &leaf::TableFault::what);
  REQUIRE(found != health.table_faults.end());
  CHECK(found->stops_grants == stops_grants);
}

struct Case {
  const char* statements;
  const char* what;
};
constexpr Case for_all[] = {
    {"CREATE TABLE child () INHERITS (leaf_alloc)", "public.child inherits from public.leaf_alloc"},
    {"CREATE TABLE child () INHERITS (leaf_worker)", "public.child inherits from public.leaf_worker"},
    {"CREATE TABLE child () INHERITS (leaf_meta); INSERT INTO child SELECT * FROM ONLY leaf_meta",
     "public.child inherits from public.leaf_meta"},
    {"CREATE RULE r AS ON UPDATE TO leaf_alloc DO INSTEAD NOTHING", "public.leaf_alloc has a rule r"},
    {"CREATE RULE r AS ON UPDATE TO leaf_meta WHERE OLD.tags > 5 DO INSTEAD NOTHING",
     "public.leaf_meta has a rule r"},
    {"ALTER TABLE leaf_alloc RENAME TO plain; CREATE VIEW leaf_alloc AS SELECT * FROM plain",
     "public.leaf_alloc is a view"},
    {"ALTER TABLE leaf_alloc RENAME TO part; CREATE TABLE leaf_alloc (LIKE part) PARTITION BY LIST (biz_tag);"
     "ALTER TABLE leaf_alloc ATTACH PARTITION part DEFAULT",
     "public.leaf_alloc is a partitioned table"},
    {"ALTER TABLE leaf_alloc RENAME TO plain; CREATE FOREIGN DATA WRAPPER none;"
     "CREATE SERVER elsewhere FOREIGN DATA WRAPPER none;"
     "DO $$ BEGIN EXECUTE (SELECT format('CREATE FOREIGN TABLE leaf_alloc (%s) SERVER elsewhere',"
     " string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ')) FROM pg_attribute"
     " WHERE attrelid = 'plain'::regclass AND attnum > 0 AND NOT attisdropped); END $$",
     "public.leaf_alloc is a foreign table"},
};

}  // namespace

TEST_CASE("table faults: what stands in the way of a table's rows is told, and the hint takes it away") {
  for (const Case& one : for_all) {
    CAPTURE(one.statements);
    Stage stage;
    stage.owner.grant(order, 1);
    stage.runtime().acquire_worker({.owner = "a"});
    stage.database.sql().run(one.statements);
    leaf::Store store = stage.runtime();
    const leaf::Error error = error_of([&] { store.grant(order, 1); });
    check_told(error, one.what);
    check_told(error_of([&] { leaf::Store({.url = stage.role_url()}).acquire_worker({.owner = "a"}); }),
               one.what);
    check_told(error_of([&] { leaf::Store({.url = stage.database.url()}).migrate(); }), one.what);
    check_told(error_of([&] { leaf::Store({.url = stage.database.url()}).remove_tag(order); }), one.what);
    check_told(store.health(), one.what, true);
    CHECK(store.health().tags_lost == 0);
    stage.follow(error);
    CHECK(store.health().table_faults.empty());
    CHECK(store.grant(order, 1).range.lo == 2);
    CHECK(store.acquire_worker({.owner = "b"}).worker == 1);
    CHECK(leaf::Store({.url = stage.database.url()}).migrate().empty());
  }
}

TEST_CASE("table faults: row-level security is told to whom it hides rows from, and others go on") {
  for (const std::string table : {"leaf_alloc", "leaf_worker", "leaf_meta"}) {
    CAPTURE(table);
    Stage stage;
    leaf::Store store = stage.runtime();
    CHECK(store.grant(order, 1).range.lo == 1);
    leaf::WorkerRequest brief{.owner = "a"};
    brief.window = std::chrono::milliseconds(1);
    store.acquire_worker(brief);
    const std::string leases_from = stage.leases_from();
    stage.database.sql().run("ALTER TABLE " + table + " ENABLE ROW LEVEL SECURITY");
    const std::string what = "public." + table + " has row-level security";
    leaf::Store other = stage.runtime();
    const leaf::Error error = error_of([&] { other.grant(order, 1); });
    check_told(error, what);
    check_told(error_of([&] { other.acquire_worker(brief); }), what);
    check_told(other.health(), what, true);
    // Of one that was connected before.
    if (table == "leaf_alloc") check_told(error_of([&] { store.grant(order, 1); }), what);
    if (table == "leaf_worker") check_told(error_of([&] { store.acquire_worker(brief); }), what);
    CHECK(stage.leases_from() == leases_from);

    leaf::Store owner({.url = stage.database.url()});
    CHECK(owner.grant(order, 1).range.lo == 2);
    check_told(owner.health(), what, false);
    stage.follow(error);
    CHECK(other.grant(order, 1).range.lo == 3);
    CHECK_NOTHROW(other.acquire_worker(brief));
  }
}

TEST_CASE_FIXTURE(Stage, "table faults: who reads nothing of a table is not kept from it") {
  database.sql().run("ALTER TABLE leaf_event ENABLE ROW LEVEL SECURITY");
  leaf::Store store = runtime();
  CHECK(store.grant(order, 1).range.lo == 1);
  check_told(store.health(), "public.leaf_event has row-level security", false);
}

TEST_CASE_FIXTURE(Stage, "table faults: a rule that lets grants pass is told where it fails a change") {
  database.sql().run("CREATE RULE r AS ON INSERT TO leaf_alloc DO ALSO SELECT 1");
  CHECK(owner.grant(order, 1).range.lo == 1);
  check_told(owner.health(), "public.leaf_alloc has a rule r", false);
  const auto add = [&] {
    owner.add_tag({.name = leaf::TagName("new"), .step = {}, .start = {}, .limit = {}, .description = {}});
  };
  const leaf::Error error = error_of(add);
  CHECK(error.code() == leaf::ErrorCode::refused);
  follow(error);
  CHECK_NOTHROW(add());
}

TEST_CASE("table faults: a log of changes that changed hands alone is told, and the hint lets it go on") {
  const TestRole other("NOLOGIN");
  Stage stage;
  stage.database.sql().run("GRANT CREATE, USAGE ON SCHEMA public TO " + other.name() +
                           "; ALTER TABLE leaf_event OWNER TO " + other.name());
  const auto change = [&] { stage.owner.update_tag(order, {.step = 7}); };
  CHECK(stage.runtime().grant(order, 1).range.lo == 1);
  CHECK(stage.owner.health().table_faults.size() == 1);
  const leaf::Error error = error_of(change);
  CHECK(error.code() == leaf::ErrorCode::refused);
  stage.follow(error);
  CHECK_NOTHROW(change());
  CHECK(stage.owner.health().table_faults.empty());
  stage.database.sql().run("DROP OWNED BY " + other.name() + " CASCADE");
}

TEST_CASE_FIXTURE(Stage, "table faults: children that are gone leave nothing behind") {
  database.sql().run("CREATE TABLE child () INHERITS (leaf_alloc); DROP TABLE child");
  CHECK(runtime().grant(order, 1).range.lo == 1);
  CHECK(owner.health().table_faults.empty());
}

TEST_CASE_FIXTURE(Stage, "table faults: a trigger of others that fails is told by its function") {
  database.sql().run(
      "CREATE TABLE audit (what text); REVOKE ALL ON audit FROM PUBLIC;"
      "CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " INSERT INTO public.audit VALUES ('x'); RETURN NEW; END $$;"
      "CREATE TRIGGER noted AFTER UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION noted()");
  leaf::Store store = runtime();
  const leaf::Error error = error_of([&] { store.grant(order, 1); });
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(error.hint().find("function public.noted() ") != std::string::npos);
  database.sql().run("ALTER TABLE leaf_alloc DISABLE TRIGGER noted");
  CHECK(store.grant(order, 1).range.lo == 1);
}
