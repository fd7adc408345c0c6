#include <doctest/doctest.h>

#include <string>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;
using leaf::test::TestRole;

namespace {

const leaf::TagName order("order");

/// Makes operators and functions that fit what is built in as well or better, and types of the same names, in
/// `public`, as a role that may create there. All of them fail when they are called, and say who called.
constexpr const char* shadows = R"(
  CREATE FUNCTION public.trap() RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'trapped %', current_user; END $$;
  DO $$
  DECLARE
    types text[] := '{int2,int4,int8,numeric,float8,text,varchar,name,oid,regclass,regtype,uuid,bool,timestamptz,"\"char\""}';
    l text; r text; op text; f text;
  BEGIN
    FOREACH l IN ARRAY types LOOP
      FOREACH r IN ARRAY types LOOP
        EXECUTE format('CREATE FUNCTION public.compare(pg_catalog.%1$s, pg_catalog.%2$s) RETURNS pg_catalog.bool LANGUAGE plpgsql'
                       ' AS ''BEGIN RETURN public.trap(); END''', l, r);
        EXECUTE format('CREATE FUNCTION public.calculate(pg_catalog.%1$s, pg_catalog.%2$s) RETURNS pg_catalog.%1$s LANGUAGE plpgsql'
                       ' AS ''BEGIN PERFORM public.trap(); RETURN NULL; END''', l, r);
        FOREACH op IN ARRAY '{=,<>,<,>,<=,>=,~~,+,-,*,/,%,||}'::text[] LOOP
          EXECUTE format('CREATE OPERATOR public.%3$s (LEFTARG = pg_catalog.%1$s, RIGHTARG = pg_catalog.%2$s, FUNCTION = public.%4$s)',
                         l, r, op, CASE WHEN op = ANY ('{+,-,*,/,%,||}') THEN 'calculate' ELSE 'compare' END);
        END LOOP;
      END LOOP;
    END LOOP;
    FOREACH f IN ARRAY '{split_part,current_setting,format,concat,concat_ws,left,right,length,abs,has_table_privilege,
        has_column_privilege,has_schema_privilege,has_function_privilege,pg_has_role,format_type,setval,set_config,encode,
        substr,starts_with,div,max,min,count,string_agg,bool_and,quote_ident,to_regclass,to_regprocedure,sha256,uuid_send,
        isfinite,pg_relation_is_publishable,pg_advisory_xact_lock,nextval,leaf_server,leaf_worker_table,
        leaf_require_durable,leaf_require_whole}'::text[] LOOP
      FOREACH l IN ARRAY types LOOP
        BEGIN
          EXECUTE format('CREATE FUNCTION public.%s(pg_catalog.%s) RETURNS pg_catalog.bool LANGUAGE plpgsql'
                         ' AS ''BEGIN RETURN public.trap(); END''', f, l);
        EXCEPTION WHEN duplicate_function OR insufficient_privilege THEN NULL; END;
        FOREACH r IN ARRAY '{int4,int8,text,name,oid,regclass,bool}'::text[] LOOP
          BEGIN
            EXECUTE format('CREATE FUNCTION public.%s(pg_catalog.%s, pg_catalog.%s) RETURNS pg_catalog.bool LANGUAGE plpgsql'
                           ' AS ''BEGIN RETURN public.trap(); END''', f, l, r);
          EXCEPTION WHEN duplicate_function OR insufficient_privilege THEN NULL; END;
        END LOOP;
      END LOOP;
    END LOOP;
    FOREACH f IN ARRAY '{now,clock_timestamp,gen_random_uuid,pg_backend_pid,pg_is_in_recovery,current_database}'::text[] LOOP
      EXECUTE format('CREATE FUNCTION public.%s() RETURNS pg_catalog.bool LANGUAGE plpgsql'
                     ' AS ''BEGIN RETURN public.trap(); END''', f);
    END LOOP;
    FOREACH f IN ARRAY '{text,uuid,oid,regclass,name,regnamespace,regprocedure,timestamptz}'::text[] LOOP
      EXECUTE format('CREATE DOMAIN public.%1$s AS pg_catalog.%1$s CHECK (public.trap())', f);
    END LOOP;
  END $$;
)";

/// For calls whose arguments would have to be cast.
const char* const shadows_of_settling = R"(
  CREATE FUNCTION public.leaf_settle(regclass, text, bool, bool)
    RETURNS TABLE (tag text, room bool, left_out_from bigint, left_out_to bigint) LANGUAGE plpgsql
    AS 'BEGIN PERFORM public.trap(); RETURN; END';
  CREATE FUNCTION public.leaf_settle(oid, varchar, bool, bool)
    RETURNS TABLE (tag text, room bool, left_out_from bigint, left_out_to bigint) LANGUAGE plpgsql
    AS 'BEGIN PERFORM public.trap(); RETURN; END';
)";

/// A database in which a role has set its traps, before the owner's tables or after.
struct Stage {
  TestRole role{"LOGIN PASSWORD 'right'"};
  TestDatabase database;

  Stage() {
    database.sql().run("GRANT CREATE ON SCHEMA public TO " + role.name());
    // What is built in comes last.
    database.sql().run("ALTER DATABASE " + database.name() + " SET search_path = public, pg_catalog");
  }
  /// But for functions that are named like the store's: where there is no store yet, init-db refuses those.
  void set_traps(bool with_those_of_the_store = true) {
    std::string statements = shadows;
    const std::string own = "leaf_server,leaf_worker_table,";
    if (!with_those_of_the_store) statements.replace(statements.find(own), own.size(), "");
    if (with_those_of_the_store) statements += shadows_of_settling;
    if (!with_those_of_the_store) {
      const std::string others = "leaf_require_durable,leaf_require_whole";
      statements.replace(statements.find(others), others.size(), "pg_typeof");
    }
    SqlSession(database.url("user=" + role.name() + " password=right options='-c search_path=pg_catalog'"))
        .run(statements);
  }
  bool is_set() {
    try {
      SqlSession(database.url()).value("SELECT 1::bigint = 1::bigint");
      return false;
    } catch (const std::runtime_error& error) {
      return std::string(error.what()).find("trapped") != std::string::npos;
    }
  }
  void use(const std::string& url) {
    leaf::Store store({.url = url});
    store.add_tag({.name = order, .step = 10, .start = {}, .limit = {}, .description = {}});
    for (int i = 0; i < 5; ++i) store.grant_segment(order);
    store.grant(order, 3);
    store.update_tag(order, {.step = 20});
    CHECK(store.tags().size() == 1);
    CHECK(store.similar_tags(leaf::TagName("orders")).size() == 1);
    leaf::WorkerLease lease = store.acquire_worker({.owner = "a"});
    for (int i = 0; i < 4; ++i) lease = store.renew_worker(lease, {.owner = "a"});
    store.acquire_worker({.owner = "b", .worker = 7});
    CHECK(store.give_up_worker(lease, lease.begin));
    store.recycle_worker(7, true);
    CHECK(store.workers().size() == 2);
    store.release_workers("a");
    store.recycle_silent_workers(std::chrono::milliseconds(0));
    store.set_guard_steps(7);
    store.set_layout(leaf::Layout::parse("leaf"));
    CHECK(store.install_functions() == "public");
    store.grant_runtime_role(role.name());
    CHECK(store.identity().deployment.size() == 36);
    CHECK(store.health().schema_version);
    CHECK(store.health().functions.size() == 1);
    CHECK_NOTHROW(store.settle_failover(store.failover(), leaf::Commits::may_be_lost));
    store.remove_tag(order);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Stage, "shadows: what a role makes in the search_path is never called by the owner") {
  leaf::Store({.url = database.url()}).migrate();
  set_traps();
  REQUIRE(is_set());
  use(database.url());
}

TEST_CASE_FIXTURE(Stage, "shadows: nor behind a pooler, where a session's settings are everybody's") {
  leaf::Store({.url = database.url()}).migrate();
  set_traps();
  const leaf::test::Pgbouncer pgbouncer;
  use(database.url(pgbouncer.parameters()));
  CHECK(SqlSession(database.url(pgbouncer.parameters())).rows("SHOW search_path")[0][0] ==
        "public, pg_catalog");
}

TEST_CASE_FIXTURE(Stage, "shadows: nor by a migration, nor by its script") {
  database.sql().run(
      "SET search_path = public; CREATE TABLE leaf_alloc (id integer PRIMARY KEY, biz_tag varchar(64), "
      "max_id integer,"
      " step smallint, update_time timestamp); INSERT INTO leaf_alloc VALUES (1, 'user', 5, 10, NULL)");
  SUBCASE("called") {
    set_traps(false);
    leaf::Store({.url = database.url()}).migrate();
  }
  SUBCASE("by hand") {
    set_traps(false);
    const std::string script = leaf::Store({.url = database.url()}).migration_script();
    leaf::test::run({leaf::test::postgresql_program("psql"), "--no-psqlrc", "--quiet",
                     "--set=ON_ERROR_STOP=1", "--dbname", database.name()},
                    script);
  }
  REQUIRE(is_set());
  leaf::Store store({.url = database.url()});
  CHECK(store.grant(leaf::TagName("user"), 2).range == leaf::Range{5, 7});
  store.remove_tag(leaf::TagName("user"));
  use(database.url());
}

TEST_CASE_FIXTURE(Stage, "shadows: what looks like a store, in front of it, is refused") {
  database.sql().run("CREATE SCHEMA ids; SET search_path = ids");
  leaf::Store({.url = database.url("options='-c search_path=ids'")}).migrate();
  const std::string url = database.url("options='-c search_path=public,ids'");
  SqlSession intruder(
      database.url("user=" + role.name() + " password=right options='-c search_path=public'"));
  CHECK(leaf::Store({.url = url}).tags().empty());
  SUBCASE("a table") {
    intruder.run("CREATE TABLE leaf_meta (schema_version integer)");
    // One's own is one's own: the superuser that runs this test has made the other.
    database.sql().run("GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA ids TO " + role.name() +
                       "; GRANT USAGE ON SCHEMA ids TO " + role.name());
    const leaf::Error error = error_of([&] { leaf::Store({.url = url}).tags(); });
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(std::string(error.what()) ==
          "schemas 'public' and 'ids' both have a leaf_meta, of different owners");
  }
  SUBCASE("a view") {
    intruder.run(
        "CREATE FUNCTION trap() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;"
        "CREATE VIEW leaf_meta AS SELECT trap() AS schema_version, gen_random_uuid() AS deployment");
    const leaf::Error error = error_of([&] { leaf::Store({.url = url}).tags(); });
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(std::string(error.what()) == "'public.leaf_meta' is not a table of a store");
  }
  CHECK(leaf::Store({.url = database.url("options='-c search_path=ids'")}).tags().empty());
}
