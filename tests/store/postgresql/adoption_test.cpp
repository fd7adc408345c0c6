#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/health.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::proposes;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;
using leaf::test::TestRole;

namespace {

const leaf::TagName order("order");
const std::string table =
    "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint NOT NULL DEFAULT 1, step "
    "integer NOT NULL,"
    " description varchar(256), update_time timestamptz DEFAULT now());"
    "INSERT INTO leaf_alloc VALUES ('order', 700, 10, NULL, NULL);";

/// A database whose public schema is open to a role, which makes what init-db needs before init-db is run by
/// a superuser. Whatever of it runs as anybody else leaves a mark.
struct Stage {
  TestRole intruder{"LOGIN PASSWORD 'right'"};
  TestRole administrator{"LOGIN SUPERUSER PASSWORD 'right'"};
  TestDatabase database;
  std::string url = database.url("user=" + administrator.name() + " password=right");

  Stage() {
    database.sql().run(
        "CREATE SCHEMA seen; CREATE TABLE seen.ran (who text); GRANT USAGE ON SCHEMA seen TO PUBLIC;"
        "GRANT INSERT ON seen.ran TO PUBLIC; GRANT CREATE ON SCHEMA public TO " +
        intruder.name());
    as_intruder(
        "CREATE FUNCTION evil() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO seen.ran VALUES (current_user); RETURN 1; END $$;"
        "CREATE FUNCTION evil(anyelement) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN"
        " PERFORM public.evil(); RETURN true; END $$;"
        "CREATE FUNCTION evil_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " PERFORM public.evil(); RETURN NEW; END $$;");
  }
  ~Stage() {
    database.sql().run("DROP OWNED BY " + intruder.name() + ", " + administrator.name() + " CASCADE");
  }
  void as_intruder(const std::string& statements) {
    SqlSession(database.url("user=" + intruder.name() + " password=right")).run(statements);
  }
  std::string who_ran() {
    return database.sql().value(
        "SELECT coalesce(string_agg(DISTINCT who, ' '), '') FROM seen.ran WHERE who <> $1",
        {intruder.name()});
  }
  bool names(const leaf::Error& error, const std::string& what) {
    return std::string(error.what()).find(what + " of role '" + intruder.name() + "'") != std::string::npos;
  }
};

struct Trap {
  std::string statements;
  std::string named;
  int since = 13;  ///< the version of PostgreSQL
};
const Trap traps[] = {
    {"", "table public.leaf_alloc"},
    {"CREATE TRIGGER t BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION evil_trigger()",
     "trigger t on public.leaf_alloc"},
    {"CREATE TRIGGER leaf_alloc_never_back BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION "
     "evil_trigger()",
     "trigger leaf_alloc_never_back on public.leaf_alloc"},
    {"CREATE RULE r AS ON UPDATE TO leaf_alloc DO ALSO SELECT evil()", "rule r on public.leaf_alloc"},
    {"ALTER TABLE leaf_alloc ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
     "CREATE POLICY p ON leaf_alloc USING (evil(step))",
     "policy p on public.leaf_alloc"},
    {"ALTER TABLE leaf_alloc ADD extra integer DEFAULT evil()",
     "default of column extra on public.leaf_alloc"},
    {"ALTER TABLE leaf_alloc ADD extra xml DEFAULT query_to_xml('SELECT public.evil()', true, true, '')",
     "default of column extra on public.leaf_alloc"},
    {"ALTER TABLE leaf_alloc ADD extra boolean GENERATED ALWAYS AS (evil(step)) STORED",
     "expression of column extra on public.leaf_alloc"},
    {"ALTER TABLE leaf_alloc ADD CONSTRAINT leaf_c CHECK (evil(max_id))",
     "constraint leaf_c on public.leaf_alloc"},
    {"GRANT TRIGGER ON leaf_alloc TO PUBLIC", "table public.leaf_alloc"},
    {"CREATE INDEX i ON leaf_alloc (evil(step))", "index i on public.leaf_alloc"},
    {"CREATE INDEX i ON leaf_alloc (step) WHERE evil(step)", "index i on public.leaf_alloc"},
    {"CREATE STATISTICS s ON (evil(step)) FROM leaf_alloc", "statistics s on public.leaf_alloc", 14},
    {"CREATE TABLE child () INHERITS (leaf_alloc);"
     "CREATE TRIGGER t BEFORE UPDATE ON child FOR EACH ROW EXECUTE FUNCTION evil_trigger()",
     "trigger t on public.child"},
};

}  // namespace

TEST_CASE("adoption: init-db runs nothing that another role made, names it, and takes it over when told") {
  for (const Trap& trap : traps) {
    CAPTURE(trap.statements);
    Stage stage;
    if (stage.database.server_version() < trap.since) continue;
    stage.as_intruder(table + trap.statements);
    leaf::Store store({.url = stage.url});
    const leaf::Error error = error_of([&] { store.migrate(); });
    CHECK(error.code() == leaf::ErrorCode::refused);
    INFO("refused: ", std::string(error.what()));
    CHECK(stage.names(error, trap.named));
    CHECK(stage.names(error, "table public.leaf_alloc"));
    CHECK(proposes(error, {.kind = leaf::Remedy::Kind::adopt_objects}));

    // Nor does what an administrator is given to run.
    const std::string script = store.migration_script();
    const auto by_hand = [&](const std::string& text) {
      leaf::test::run(
          {leaf::test::postgresql_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1",
           "--username", stage.administrator.name(), "--dbname", stage.url},
          text);
    };
    CHECK_THROWS(by_hand(script));
    CHECK(stage.database.sql().value("SELECT to_regclass('leaf_meta') IS NULL") == "t");

    const auto found = store.foreign_objects();
    CHECK(stage.database.sql().value(
              "SELECT relowner::regrole::text FROM pg_class WHERE relname = 'leaf_alloc'") ==
          stage.intruder.name());  // it only looked
    if (trap.named.starts_with("trigger t on public.l") || trap.named.starts_with("policy"))
      by_hand(store.migration_script(found));
    else
      CHECK_FALSE(store.migrate(found).empty());
    CHECK(store.migrate().empty());
    CHECK(store.foreign_objects().empty());
    store.grant(order, 5);
    store.update_tag(order, {.step = 11});
    CHECK(
        store.add_tag({.name = leaf::TagName("new"), .step = {}, .start = {}, .limit = {}, .description = {}})
            .next_id == 1);
    CHECK(store.tag(order).next_id == 705);
    stage.database.sql().run("ANALYZE");
    CHECK(stage.who_ran() == "");
    CHECK_THROWS(stage.as_intruder(
        "CREATE TRIGGER late BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION evil_trigger()"));
    CHECK_THROWS(stage.as_intruder("UPDATE leaf_alloc SET step = 1"));
  }
}

TEST_CASE_FIXTURE(Stage, "adoption: what was not shown is not taken over") {
  as_intruder(table);
  leaf::Store store({.url = url});
  const auto shown = store.foreign_objects();
  REQUIRE(shown.size() == 1);
  as_intruder("CREATE TRIGGER t BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION evil_trigger()");
  const leaf::Error error = error_of([&] { store.migrate(shown); });
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(proposes(error, {.kind = leaf::Remedy::Kind::look_at_objects}));
  CHECK(who_ran() == "");
  // As the hint says.
  CHECK_NOTHROW(store.migrate(store.foreign_objects()));
  CHECK(who_ran() == "");
}

TEST_CASE_FIXTURE(Stage,
                  "adoption: a type is its owner's to drop, and a store somebody set up is that one's") {
  SUBCASE("a type") {
    as_intruder(table +
                "CREATE DOMAIN d AS integer CHECK (evil(VALUE)); ALTER TABLE leaf_alloc ALTER step TYPE d");
    leaf::Store store({.url = url});
    const leaf::Error error = error_of([&] { store.migrate(store.foreign_objects()); });
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(names(error, "type public.d of column step of public.leaf_alloc"));
  }
  SUBCASE("a store") {
    leaf::Store({.url = database.url("user=" + intruder.name() + " password=right")}).migrate();
    leaf::Store store({.url = url});
    CHECK(error_of([&] { store.migrate(); }).code() == leaf::ErrorCode::refused);
    CHECK(error_of([&] { store.migrate(store.foreign_objects()); }).hint() ==
          "do this as role '" + intruder.name() + "', or drop it by hand");
    CHECK(
        leaf::Store({.url = database.url("user=" + intruder.name() + " password=right")}).migrate().empty());
  }
  CHECK(who_ran() == "");
}

TEST_CASE_FIXTURE(Stage, "adoption: an owner need be no superuser, and a superuser's own objects stay") {
  leaf::Store owner({.url = database.url("user=" + intruder.name() + " password=right")});
  as_intruder(table +
              "CREATE TRIGGER t BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION evil_trigger()");
  CHECK_FALSE(owner.migrate().empty());
  CHECK(owner.tag(order).next_id == 700);
  CHECK(owner.foreign_objects().empty());
  CHECK(owner.health().schema_creators.empty());
}

TEST_CASE_FIXTURE(Stage, "adoption: what others put beside a store is named") {
  leaf::Store store({.url = url});
  store.migrate();
  database.sql().run("GRANT TRIGGER ON leaf_worker TO PUBLIC");
  as_intruder(
      "CREATE FUNCTION leaf_server(regclass) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM public.evil();"
      " RETURN 'x'; END $$;"
      "CREATE TRIGGER t BEFORE UPDATE ON leaf_worker FOR EACH ROW EXECUTE FUNCTION evil_trigger()");
  const leaf::Error error = error_of([&] { store.migrate(); });
  CHECK(names(error, "function public.leaf_server(regclass)"));
  CHECK(names(error, "trigger t on public.leaf_worker"));
  CHECK(store.migrate(store.foreign_objects()).empty());
  CHECK(store.foreign_objects().empty());
  store.acquire_worker({.owner = "a"});
  CHECK(who_ran() == "");
  CHECK(store.health().schema_creators == std::vector<std::string>{intruder.name()});
}

TEST_CASE_FIXTURE(Stage, "adoption: a function of the store that another role has replaced is made again") {
  leaf::Store store({.url = url});
  store.migrate();
  store.add_tag({.name = order, .step = 10, .start = {}, .limit = {}, .description = {}});
  const auto functions = [&] {
    return database.sql().value(
        "SELECT string_agg(md5(pg_get_functiondef(oid) || proowner || coalesce(nullif(proacl::text, ''), "
        "'')), ' '"
        " ORDER BY proname, pronargs) FROM pg_proc WHERE proname LIKE 'leaf%'");
  };
  const std::string before = functions();
  const auto each = database.sql().rows(
      "SELECT oid::regprocedure, proname, pg_get_function_identity_arguments(oid), prorettype::regtype, "
      "proretset FROM"
      " pg_proc WHERE proname LIKE 'leaf%' AND prorettype <> 'trigger'::regtype ORDER BY 1");
  REQUIRE(each.size() > 4);
  for (const auto& row : each) {
    CAPTURE(row[0]);
    database.sql().run("DROP FUNCTION " + row[0] + " CASCADE");
    CHECK(store.health().stopped_triggers.at(0) == "function " + row[1]);
    as_intruder("CREATE FUNCTION " + row[1] + "(" + row[2] +
                ") RETURNS integer LANGUAGE plpgsql AS $$ BEGIN"
                " RETURN public.evil(); END $$");
    CHECK(names(error_of([&] { store.migrate(); }), "function public." + row[0]));
    CHECK(!store.migrate(store.foreign_objects()).empty());
    CHECK(functions() == before);
    CHECK(store.health().stopped_triggers.empty());
    store.update_tag(order, {.step = 20});
    store.grant(order, 5);
  }
  // Those of triggers take the triggers with them.
  database.sql().run("DROP FUNCTION leaf_alloc_guard() CASCADE");
  CHECK(store.health().stopped_triggers.size() == 2);
  CHECK(!store.migrate().empty());
  CHECK(functions() == before);
  CHECK(store.health().stopped_triggers.empty());
  CHECK(who_ran() == "");
}

TEST_CASE("adoption: an index on some of the tags, or on more than their names, is no key of them") {
  for (const std::string index : {"(biz_tag) WHERE step > 100", "(biz_tag, step)"}) {
    CAPTURE(index);
    TestDatabase database;
    database.sql().run(
        "CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL, max_id bigint NOT NULL, step integer NOT "
        "NULL,"
        " description varchar(256), update_time timestamptz DEFAULT now());"
        "CREATE UNIQUE INDEX of_some ON leaf_alloc " +
        index + "; INSERT INTO leaf_alloc VALUES ('order', 700, 10)");
    leaf::Store({.url = database.url()}).migrate();
    CHECK_THROWS_WITH(
        database.sql().run("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 1, 20)"),
        doctest::Contains("duplicate key"));
  }
}
