#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/grant_audit.hpp"
#include "support/guard_share.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/sql_verdict.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"

using leaf::test::is_behind_guard;
using leaf::test::postgresql_program;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;
using leaf::test::TestRole;
using leaf::test::verdict;

namespace {

const leaf::TagName order("order");
constexpr std::int64_t step = 10;

/// A store with functions and a tag.
struct Stage {
  TestDatabase database;
  leaf::Store store{{.url = database.url()}};
  SqlSession& sql = database.sql();

  Stage() {
    store.migrate();
    store.install_functions();
    add("order");
  }
  void add(const std::string& name, std::optional<std::int64_t> start = {},
           std::optional<std::int64_t> limit = {}) {
    store.add_tag(
        {.name = leaf::TagName(name), .step = step, .start = start, .limit = limit, .description = {}});
  }
  std::int64_t next_id() { return store.tag(order).next_id; }
  std::string draw(SqlSession& session) { return verdict(session, "SELECT leaf_next('order')"); }
  /// Whether the backend of `session` waits for a lock.
  bool waits(const SqlSession& session) {
    return sql.value("SELECT wait_event_type FROM pg_stat_activity WHERE pid = " +
                     std::to_string(session.backend())) == "Lock";
  }
};

void restore(const std::string& dump, const std::string& database) {
  leaf::test::run(
      {postgresql_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname", database},
      dump);
}

}  // namespace

TEST_CASE_FIXTURE(
    Stage, "draw in SQL: a default gives each row an ID, and ranges are disjoint from those of programs") {
  CHECK(draw(sql) == "1");
  CHECK(store.grant(order, 3).range == leaf::Range{2, 5});
  sql.run("CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT leaf_next('order'), n integer)");
  sql.run("INSERT INTO orders (n) VALUES (1), (2), (3)");
  sql.run("INSERT INTO orders (n) SELECT generate_series(4, 6)");
  CHECK(sql.value("SELECT string_agg(id::text, ' ' ORDER BY n) FROM orders") == "5 6 7 8 9 10");
  CHECK(store.grant_segment(order).range == leaf::Range{11, 21});
  CHECK(sql.value("SELECT string_agg(id::text, ' ') FROM leaf_next('order', 4) AS id") == "21 22 23 24");
  CHECK(sql.value("SELECT count(DISTINCT id) || ' ' || min(id) || ' ' || max(id) FROM leaf_next('order', "
                  "100000) AS id") == "100000 25 100024");
  // As many as were asked for are drawn, however few are taken.
  CHECK(sql.value("SELECT leaf_next('order', 5) LIMIT 1") == "100025");
  CHECK(draw(sql) == "100030");
  CHECK(sql.value("SELECT last_grant FROM leaf_alloc") == "1");
}

TEST_CASE_FIXTURE(Stage, "draw in SQL: what is no tag, or no number of IDs, is refused, and draws nothing") {
  const std::string names = "|a tag's name has 1 to 128 characters of A-Z a-z 0-9 . _ : -";
  const auto next = [&](const std::string& arguments) {
    return verdict(sql, "SELECT leaf_next(" + arguments + ")");
  };
  CHECK(next("''") == "22023|the name of a tag is empty" + names);
  CHECK(next("NULL") == "22023|the name of a tag is empty" + names);
  CHECK(next("E'order\\n'") == "22023|tag 'order?' has a character that is not allowed" + names);
  CHECK(next("E'\\x1b[2J'") == "22023|tag '?[2J' has a character that is not allowed" + names);
  CHECK(next("'größe'") == "22023|tag 'gr??e' has a character that is not allowed" + names);
  CHECK(next("repeat('x', 129)") ==
        "22023|tag '" + std::string(128, 'x') + "...' has a name of 129 characters" + names);
  CHECK(next("repeat('x', 128)").starts_with("42704|tag 'xxx"));
  CHECK(next("'orders'") == "42704|tag 'orders' does not exist|create it with 'leafctl add-tag orders'");
  for (const char* count : {"0", "-1", "16777217", "9223372036854775807", "-9223372036854775808", "NULL"}) {
    CHECK(next(fmt::format("'order', '{}'::bigint", count == std::string("NULL") ? "0" : count))
              .starts_with("22023|the number of IDs "));
  }
  CHECK(next("'order', NULL").starts_with("22023|the number of IDs NULL is not from 1 to 16777216"));
  store.remove_tag(order);
  CHECK(draw(sql).starts_with("42704|tag 'order' does not exist"));
  add("order");
  CHECK(draw(sql) == "1");
}

TEST_CASE_FIXTURE(Stage, "draw in SQL: a range that is none gives no ID") {
  sql.run(
      "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.max_id := 0; RETURN NEW; "
      "END $$;"
      "CREATE TRIGGER zz_last BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION spoil()");
  CHECK(draw(sql).starts_with("XX000|the store granted no valid range"));
}

TEST_CASE_FIXTURE(Stage, "draw in SQL: a limit holds to the last ID, all or none") {
  add("few", 5, 9);
  const auto next = [&](const std::string& arguments) {
    return verdict(sql, "SELECT max(id) FROM leaf_next(" + arguments + ") id");
  };
  CHECK(next("'few', 6") ==
        "2200H|tag 'few' has only 5 IDs left (limit 9)|raise it with 'leafctl tags update --limit ID few'");
  CHECK(next("'few', 4") == "8");
  CHECK(next("'few', 2").starts_with("2200H|tag 'few' has only 1 ID left (limit 9)|"));
  CHECK(next("'few'") == "9");
  CHECK(next("'few'").starts_with("2200H|tag 'few' is used up: its limit is 9|"));
  store.update_tag(leaf::TagName("few"), {.limit = 10});
  CHECK(next("'few'") == "10");
  add("last", leaf::max_id - 1);
  CHECK(next("'last', 2") == std::to_string(leaf::max_id));
  CHECK(next("'last'") ==
        fmt::format("2200H|tag 'last' is used up: its limit is {}|go on with another tag: no ID is greater",
                    leaf::max_id));
  CHECK(store.tag(leaf::TagName("last")).next_id == leaf::past_max_id);
}

TEST_CASE_FIXTURE(
    Stage, "draw in SQL: commits that may be lost, and triggers that do not run, are refused as a grant is") {
  for (const char* option :
       {"synchronous_commit=off", "client_min_messages=error", "session_replication_role=replica"}) {
    CAPTURE(option);
    const std::string url = database.url(fmt::format("options='-c {}'", option));
    SqlSession session(url);
    const leaf::Error error = leaf::test::error_of([&] { leaf::Store({.url = url}).grant(order, 1); });
    const std::string said = draw(session), same = fmt::format("LF002|{}|", error.what());
    CHECK(said.starts_with(same));
    CHECK(error.hint().starts_with(said.substr(std::min(same.size(), said.size()))));
    CHECK(verdict(session, "SELECT max(id) FROM leaf_next('order', 3) id").starts_with("LF002|"));
  }
  for (const char* mode : {"on", "local", "remote_write", "remote_apply"})
    CHECK(std::stoll(verdict(
              sql, fmt::format("SELECT leaf_next('order') FROM set_config('synchronous_commit', '{}', false)",
                               mode))) > 0);
  // Nothing that is refused uses up an ID.
  CHECK(next_id() == 5);
}

TEST_CASE_FIXTURE(Stage,
                  "draw in SQL: a table that a crash empties, or that lacks its triggers, is refused") {
  sql.run("ALTER TABLE leaf_alloc SET UNLOGGED");
  CHECK(draw(sql) ==
        "LF002|table public.leaf_alloc is unlogged: a crash of the server would empty it|run 'ALTER TABLE "
        "public.leaf_alloc SET LOGGED'");
  sql.run("ALTER TABLE leaf_alloc SET LOGGED");
  CHECK(draw(sql) == "1");
  sql.run(
      "ALTER TABLE leaf_alloc RENAME TO before; CREATE TABLE leaf_alloc (LIKE before INCLUDING ALL);"
      "INSERT INTO leaf_alloc SELECT * FROM before");
  CHECK(draw(sql) ==
        "LF002|table leaf_alloc was recreated without its triggers: IDs that were granted may come again|put "
        "back the one that was there, or the whole store from a backup");
}

TEST_CASE_FIXTURE(
    Stage, "draw in SQL: a store that is another deployment, or asks for later functions, draws nothing") {
  const std::string former = store.identity().deployment;
  const std::string now = store.begin_new_deployment(former).deployment;
  CHECK(draw(sql) ==
        fmt::format("LF008|the store is deployment {} now, and the functions are for {}|look which store it "
                    "is; if it is the right one, install them again with 'leafctl init-db --functions'",
                    now, former));
  store.install_functions();
  CHECK(draw(sql) == "1");
  sql.run("UPDATE leaf_meta SET min_reader = 1000");
  CHECK(
      draw(sql).starts_with("LF008|the store asks for functions that know schema version 1000; these know "));
  sql.run("DELETE FROM leaf_meta");
  CHECK(draw(sql).starts_with("LF008|table leaf_meta has lost its row"));
}

TEST_CASE_FIXTURE(
    Stage, "draw in SQL: functions outlive a store that is made anew beside them, and draw nothing from it") {
  sql.run("CREATE SCHEMA app");
  store.install_functions("app");
  CHECK(verdict(sql, "SELECT app.leaf_next('order')") == "1");
  sql.run(
      "DROP TABLE leaf_alloc, leaf_meta, leaf_worker, leaf_event CASCADE;"
      "DO $$ DECLARE f regprocedure; BEGIN FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = "
      "'public'::regnamespace"
      " AND proname LIKE 'leaf%' LOOP EXECUTE format('DROP FUNCTION %s CASCADE', f); END LOOP; END $$");
  CHECK(verdict(sql, "SELECT app.leaf_next('order')").starts_with("42P01|"));
  leaf::Store anew({.url = database.url()});
  anew.migrate();
  anew.add_tag({.name = order, .step = step, .start = {}, .limit = {}, .description = {}});
  CHECK(verdict(sql, "SELECT app.leaf_next('order')").starts_with("LF008|the store is deployment "));
}

TEST_CASE_FIXTURE(Stage, "draw in SQL: a restored dump has the functions, and leaves out the guard") {
  sql.run(
      "CREATE SCHEMA app; CREATE TABLE orders (id bigint DEFAULT leaf_next('order'), n integer); CREATE "
      "INDEX ON orders"
      " (leaf_time(id)); INSERT INTO orders (n) VALUES (1), (2)");
  store.install_functions("app");
  const std::string dump =
      leaf::test::run({postgresql_program("pg_dump"), "--no-owner", "--dbname", database.name()});
  TestDatabase copy;
  restore(dump, copy.name());
  copy.sql().run("INSERT INTO orders (n) VALUES (3)");
  const std::int64_t drawn = std::stoll(copy.sql().value("SELECT id FROM orders WHERE n = 3"));
  CHECK(is_behind_guard({drawn, drawn + 1}, 3, 100 * step));
  CHECK(verdict(copy.sql(), "SELECT app.leaf_next('order')") == std::to_string(drawn + 1));
  CHECK(leaf::Store({.url = copy.url()}).health().functions.size() == 2);
  CHECK(leaf::Store({.url = copy.url()}).migrate().empty());
  // Without room for it nothing is drawn, until somebody decides.
  add("few", 1, 500);
  CHECK(verdict(sql, "SELECT leaf_next('few')") == "1");
  TestDatabase second;
  restore(leaf::test::run({postgresql_program("pg_dump"), "--no-owner", "--dbname", database.name()}),
          second.name());
  CHECK(verdict(second.sql(), "SELECT leaf_next('few')")
            .starts_with("LF001|tag 'few' was last granted by another server"));
}

TEST_CASE_FIXTURE(
    Stage, "draw in SQL: a rollback gives IDs back, also to a savepoint, and the next one draws them again") {
  SqlSession other(database.url());
  sql.run("BEGIN");
  CHECK(sql.value("SELECT leaf_next('order')") == "1");
  sql.run("SET LOCAL leaf.draw_in_savepoints = on; SAVEPOINT here");
  CHECK(sql.value("SELECT leaf_next('order')") == "2");
  sql.run("ROLLBACK TO here");
  CHECK(sql.value("SELECT leaf_next('order')") == "2");
  sql.run("ROLLBACK");
  CHECK(draw(other) == "1");
  CHECK(store.grant(order, 1).range == leaf::Range{2, 3});
}

TEST_CASE_FIXTURE(Stage,
                  "draw in SQL: until the transaction ends others wait for its tag, and for no other one") {
  add("user");
  SqlSession holder(database.url()), waiting(database.url());
  holder.run("BEGIN");
  CHECK(holder.value("SELECT leaf_next('order')") == "1");
  CHECK(verdict(sql, "SELECT leaf_next('user')") == "1");
  auto drawn = std::async(std::launch::async, [&] { return waiting.value("SELECT leaf_next('order')"); });
  auto granted = std::async(std::launch::async,
                            [&] { return leaf::Store({.url = database.url()}).grant(order, 5).range.lo; });
  CHECK(leaf::test::wait_for([&] { return waits(waiting); }));
  std::string outcome;
  SUBCASE("a commit keeps what it has") {
    outcome = "COMMIT";
  }
  SUBCASE("a rollback leaves it to those") {
    outcome = "ROLLBACK";
  }
  holder.run(outcome);
  const std::int64_t first = outcome == "COMMIT" ? 2 : 1;
  const std::int64_t one = std::stoll(drawn.get()), five = granted.get();
  CHECK(std::min(one, five) == first);
  CHECK(next_id() == first + 6);
  CHECK((one < five ? one + 1 == five : five + 5 == one));
}

TEST_CASE_FIXTURE(Stage, "draw in SQL: a tag that is removed while somebody waits for it is gone") {
  SqlSession holder(database.url()), waiting(database.url());
  holder.run("BEGIN; UPDATE leaf_alloc SET removed_at = now(), changed_at = now()");
  auto drawn = std::async(std::launch::async, [&] { return draw(waiting); });
  CHECK(leaf::test::wait_for([&] { return waits(waiting); }));
  holder.run("COMMIT");
  CHECK(drawn.get().starts_with("42704|tag 'order' does not exist"));
}

TEST_CASE_FIXTURE(Stage,
                  "draw in SQL: a limit that is raised while a draw looks why it got none is drawn to") {
  add("few", 1, 1);
  CHECK(verdict(sql, "SELECT leaf_next('few')") == "1");
  // The statement that finds no ID fires it all the same.
  sql.run(
      "CREATE SEQUENCE nth; CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql SET search_path FROM "
      "CURRENT"
      " AS $$ BEGIN IF nextval('nth') = 1 THEN UPDATE leaf_alloc SET id_limit = 2 WHERE biz_tag = 'few'; END "
      "IF;"
      " RETURN NULL; END $$;"
      "CREATE TRIGGER strike AFTER UPDATE ON leaf_alloc FOR EACH STATEMENT EXECUTE FUNCTION strike()");
  CHECK(verdict(sql, "SELECT leaf_next('few')") == "2");
}

TEST_CASE_FIXTURE(Stage, "draw in SQL: a snapshot that is older than the last grant has to begin again") {
  for (const char* level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    sql.run(std::string("BEGIN ISOLATION LEVEL ") + level);
    sql.value("SELECT count(*) FROM leaf_alloc");
    store.grant(order, 1);
    CHECK(draw(sql).starts_with("40001|"));
    sql.run("ROLLBACK");
  }
  CHECK(draw(sql) == "3");
}

TEST_CASE_FIXTURE(Stage, "draw in SQL: sessions and programs that draw at once get each ID once") {
  leaf::test::GrantAudit audit(database.url());
  constexpr int clients = 8, rounds = 60;
  std::vector<std::vector<leaf::Range>> drawn(clients);
  std::vector<std::string> failures(clients);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      try {
        SqlSession session(database.url());
        leaf::Store program({.url = database.url()});
        for (int round = 0; round < rounds; ++round) {
          if (i % 2 == 0) {
            drawn[i].push_back(round % 2 == 0 ? program.grant_segment(order).range
                                              : program.grant(order, 3).range);
            continue;
          }
          const auto rows =
              session.rows(round % 2 == 0 ? "SELECT leaf_next('order')" : "SELECT leaf_next('order', 4)");
          const std::int64_t first = std::stoll(rows[0][0]);
          for (std::size_t row = 0; row < rows.size(); ++row) {
            if (std::stoll(rows[row][0]) != first + static_cast<std::int64_t>(row))
              failures[i] = "not in order";
          }
          drawn[i].push_back({first, first + static_cast<std::int64_t>(rows.size())});
        }
      } catch (const std::exception& error) {
        failures[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) CHECK(failure == "");
  std::set<std::int64_t> ids;
  std::size_t count = 0;
  for (const auto& ranges : drawn) {
    REQUIRE(ranges.size() == rounds);
    for (const leaf::Range& range : ranges) {
      audit.given("order", range);
      for (std::int64_t id = range.lo; id < range.hi; ++id) ids.insert(id);
      count += static_cast<std::size_t>(range.hi - range.lo);
    }
  }
  CHECK(ids.size() == count);
  CHECK(audit.burnt("order") == 0);
}

TEST_CASE("draw in SQL: who has the rights of a runtime role may, others may not, and anybody reads IDs") {
  const TestRole runtime("LOGIN PASSWORD 'right'"), stranger("LOGIN PASSWORD 'right'");
  Stage stage;
  stage.sql.run("GRANT USAGE ON SCHEMA public TO PUBLIC");
  stage.store.grant_runtime_role(runtime.name());
  SqlSession allowed(stage.database.url("user=" + runtime.name() + " password=right"));
  SqlSession denied(stage.database.url("user=" + stranger.name() + " password=right"));
  CHECK(stage.draw(allowed) == "1");
  CHECK(verdict(allowed, "SELECT max(id) FROM leaf_next('order', 3) id") == "4");
  CHECK(stage.draw(denied).starts_with("42501|permission denied for table leaf_alloc"));
  CHECK(verdict(denied, "SELECT leaf_worker(leaf_id_at('2026-01-01'))") == "0");
  // A default is drawn as who inserts.
  stage.sql.run(
      "CREATE TABLE orders (id bigint DEFAULT leaf_next('order'), n integer); GRANT INSERT ON orders TO "
      "PUBLIC");
  CHECK_NOTHROW(allowed.run("INSERT INTO orders (n) VALUES (1)"));
  CHECK_THROWS_WITH_AS(denied.run("INSERT INTO orders (n) VALUES (1)"),
                       doctest::Contains("permission denied"), std::runtime_error);
  // Nothing that it can call changes the tables in another way.
  CHECK(stage.sql.value(
            "SELECT count(*) FROM pg_proc WHERE proname IN ('leaf_grant_ids', 'leaf_next') AND (prosecdef OR"
            " proowner <> (SELECT relowner FROM pg_class WHERE oid = 'leaf_alloc'::regclass))") == "0");
  CHECK(stage.next_id() == 6);
  stage.sql.run("DROP OWNED BY " + runtime.name());
}

TEST_CASE("draw in SQL: what others put in the search_path is never called") {
  const TestRole other("LOGIN PASSWORD 'right'");
  Stage stage;
  stage.sql.run("CREATE SCHEMA evil AUTHORIZATION " + other.name());
  SqlSession(stage.database.url("user=" + other.name() + " password=right")).run(R"(
    CREATE FUNCTION evil.trap() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped %', current_user; END $$;
    DO $$
    DECLARE
      l text; r text; op text; f text;
      types text[] := '{int2,int4,int8,float8,numeric,text,varchar,date,time,timestamp,timestamptz,interval,bool,uuid,oid}';
    BEGIN
      FOREACH l IN ARRAY types LOOP
        EXECUTE format('CREATE DOMAIN evil.%1$I AS pg_catalog.%1$I CHECK (evil.trap())', l);
        FOREACH r IN ARRAY types LOOP
          EXECUTE format('CREATE FUNCTION evil.op(pg_catalog.%I, pg_catalog.%I) RETURNS boolean LANGUAGE sql AS ''SELECT evil.trap()''', l, r);
          FOREACH op IN ARRAY '{=,<>,<,>,<=,>=,~,||,+,-,*,/,%,&,|,<<,>>}'::text[] LOOP
            EXECUTE format('CREATE OPERATOR evil.%3$s (LEFTARG = pg_catalog.%1$I, RIGHTARG = pg_catalog.%2$I, FUNCTION = evil.op)', l, r, op);
          END LOOP;
          FOREACH f IN ARRAY '{timezone,date_part,left,format,split_part,current_setting,generate_series,leaf_grant_ids,leaf_next,regexp_replace}'::text[] LOOP
            EXECUTE format('CREATE FUNCTION evil.%I(pg_catalog.%I, pg_catalog.%I) RETURNS boolean LANGUAGE sql AS ''SELECT evil.trap()''', f, l, r);
          END LOOP;
        END LOOP;
        FOREACH f IN ARRAY '{to_timestamp,octet_length,length,date,time,int4,int8,float8,leaf_server,leaf_require_durable,leaf_not_an_id,leaf_not_a_time,leaf_time,leaf_next,pg_relation_is_publishable}'::text[] LOOP
          EXECUTE format('CREATE FUNCTION evil.%I(pg_catalog.%I) RETURNS boolean LANGUAGE sql AS ''SELECT evil.trap()''', f, l);
        END LOOP;
      END LOOP;
      CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN PERFORM evil.trap(); RETURN NULL; END';
      CREATE TABLE evil.leaf_alloc (biz_tag text, max_id bigint);
      CREATE TABLE evil.leaf_meta (deployment uuid);
    END $$;
    GRANT USAGE ON SCHEMA evil TO PUBLIC;
    GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA evil TO PUBLIC)");
  SqlSession victim(stage.database.url("options='-c search_path=evil,public,pg_catalog'"));
  CHECK_THROWS_WITH_AS(victim.value("SELECT 1::pg_catalog.int8 = 1::pg_catalog.int8"),
                       doctest::Contains("trapped"), std::runtime_error);
  CHECK(victim.value("SELECT public.leaf_next('order'::pg_catalog.text)") == "1");
  CHECK(victim.rows("SELECT public.leaf_next('order'::pg_catalog.text, 3::pg_catalog.int8)").size() == 3);
  const std::string id = std::to_string(leaf::Layout::parse("leaf").compose(
      leaf::UnixTime(std::chrono::milliseconds(1'767'225'600'000)), 7, 9));
  const auto of = [&](const std::string& call) { return victim.value("SELECT " + call); };
  CHECK(of("public.leaf_worker('" + id + "')") == "7");
  CHECK(of("public.leaf_sequence('" + id + "')") == "9");
  CHECK(of("public.leaf_time('" + id +
           "') OPERATOR(pg_catalog.=) '2026-01-01 00:00:00+00'::pg_catalog.timestamptz") == "t");
  CHECK(of("public.leaf_id_at('2026-01-01 00:00:00+00')") ==
        std::to_string((1'767'225'600'000 - 1'288'834'974'657) << 22));
  CHECK(victim.rows("SELECT * FROM public.leaf_bounds('2026-01-01', '2026-01-02')").size() == 1);
  for (const char* call :
       {"public.leaf_time('-1')", "public.leaf_id_at('1999-01-01')",
        "public.leaf_next('nowhere'::pg_catalog.text)", "public.leaf_next(''::pg_catalog.text)"}) {
    CHECK_THROWS_AS(of(call), std::runtime_error);
    try {
      of(call);
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()).find("trapped") == std::string::npos);
    }
  }
  // Also as columns, where nothing is known before the plan is made.
  CHECK(victim.value(fmt::format(
            "SELECT public.leaf_worker(id) FROM (VALUES ('{}'::pg_catalog.int8)) AS v (id)", id)) == "7");
}

TEST_CASE_FIXTURE(Stage, "draw in SQL: what outlives a savepoint is not drawn behind it") {
  sql.run("CREATE TABLE orders (id bigint, n integer)");
  const std::string kept = R"(DO $$
    DECLARE
      x bigint;
    BEGIN
      BEGIN
        x := leaf_next('order');
        PERFORM 1 / 0;
      EXCEPTION WHEN division_by_zero THEN
      END;
      INSERT INTO orders VALUES (x), (leaf_next('order'));
    END $$)";
  CHECK_THROWS_WITH_AS(sql.run(kept), doctest::Contains("'order' is drawn from behind a savepoint"),
                       std::runtime_error);
  for (const char* call : {"leaf_next('order')", "leaf_next('order', 3)"}) {
    const std::string query = fmt::format("SELECT max(id) FROM {} id", call);
    sql.run("BEGIN; SAVEPOINT here");
    CHECK_THROWS_AS(sql.value(query), std::runtime_error);
    sql.run("ROLLBACK TO here; RELEASE here");
    CHECK_NOTHROW(sql.value(query));
    sql.run("COMMIT");
  }
  CHECK(next_id() == 5);
  // Drawn before the block, it stays drawn.
  sql.run(R"(DO $$
    DECLARE
      x bigint := leaf_next('order');
    BEGIN
      BEGIN
        PERFORM 1 / 0;
      EXCEPTION WHEN division_by_zero THEN
      END;
      INSERT INTO orders VALUES (x), (leaf_next('order'));
    END $$)");
  CHECK(sql.value("SELECT count(DISTINCT id) FROM orders") == "2");
  // Whoever says so may, as the hint says.
  CHECK(verdict(sql, "SELECT leaf_next('order')") == "7");
  sql.run("SET leaf.draw_in_savepoints = on");
  sql.run("BEGIN; SAVEPOINT here; INSERT INTO orders VALUES (leaf_next('order')); COMMIT");
  CHECK(next_id() == 9);
}

TEST_CASE("draw in SQL: nothing that others make beside the functions fits a call better") {
  const TestRole other("LOGIN PASSWORD 'right'");
  Stage stage;
  stage.sql.run("CREATE SCHEMA app");
  stage.store.install_functions("app");
  for (const char* schema : {"app", "public"})
    stage.sql.run(fmt::format("GRANT USAGE, CREATE ON SCHEMA {} TO {}", schema, other.name()));
  SqlSession(stage.database.url("user=" + other.name() + " password=right")).run(R"(
    DO $$
    DECLARE
      home text; l text; r text;
      types text[] := '{int2,int4,int8,float8,numeric,text,varchar,bpchar,name,bool,oid,anyelement,anynonarray,json}';
    BEGIN
      FOREACH home IN ARRAY '{app,public}'::text[] LOOP
        FOREACH l IN ARRAY types LOOP
          BEGIN
            EXECUTE format('CREATE FUNCTION %I.leaf_next(%s) RETURNS bigint LANGUAGE sql AS ''SELECT -1::bigint''', home, l);
          EXCEPTION WHEN duplicate_function OR insufficient_privilege THEN
          END;
          FOREACH r IN ARRAY types || '{VARIADIC int4[],VARIADIC text[],int4 DEFAULT 1,json DEFAULT NULL}'::text[] LOOP
            BEGIN
              EXECUTE format('CREATE FUNCTION %I.leaf_next(%s, %s) RETURNS bigint LANGUAGE sql AS ''SELECT -1::bigint''', home, l, r);
            EXCEPTION WHEN duplicate_function OR insufficient_privilege THEN
            END;
          END LOOP;
        END LOOP;
      END LOOP;
    END $$)");
  SqlSession caller(stage.database.url("options='-c search_path=app,public'"));
  CHECK(caller.value("SELECT leaf_next('order'::name)") == "-1");
  std::int64_t next = 1;
  for (const char* tag : {"'order'", "'order'::text", "'order'::varchar", "'order'::varchar(20)"}) {
    CHECK(caller.value(fmt::format("SELECT leaf_next({})", tag)) == std::to_string(next++));
    for (const char* n :
         {"1", "1::smallint", "1::bigint", "'1'", "(SELECT count(*) FROM pg_am WHERE amname = 'heap')"}) {
      CAPTURE(tag);
      CAPTURE(n);
      CHECK(caller.value(fmt::format("SELECT leaf_next({}, {})", tag, n)) == std::to_string(next++));
    }
  }
  CHECK(caller.value("SELECT leaf_next($1, $2)", {"order", "1"}) == std::to_string(next++));
  stage.sql.run("DROP OWNED BY " + other.name());
}
