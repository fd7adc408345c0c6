#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/layout.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/sql_verdict.hpp"
#include "support/test_database.hpp"

using leaf::ErrorCode;
using leaf::Layout;
using leaf::UnixTime;
using leaf::test::error_of;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;
using leaf::test::TestRole;
using leaf::test::verdict;
using State = leaf::StoreFunctions::State;
using namespace std::chrono_literals;

namespace {

/// The layouts that functions are made for: the known ones, and what those have nothing of.
std::vector<Layout> layouts() {
  std::vector<Layout> all;
  for (const auto& known : leaf::known_layouts()) all.push_back(Layout::parse(known.name));
  for (const char* text : {
           "time:39,worker:6,sequence:10/10ms@1577836800000",  // not 63 bits
           "time:32,worker:10,sequence:12/1s@1577836800123",   // seconds, from the middle of one
           "time:35,worker:6,sequence:12/1h@253402290799000",  // its last hour ends in 10000
           "time:50,sequence:13/7ms@1",                        // no worker, ends before its bits
           "time:31,region:4,worker:6,sequence:8,shard:3/100ms@1577836800000",  // workers on both sides
           "worker:10,time:41,sequence:12/1ms@1288834974657",                   // not in order of time
           "worker:3,time:48,sequence:12/1ms@1288834974657",  // nor up to the end of its bits
       })
    all.push_back(Layout::parse(text));
  return all;
}

std::int64_t unix_ms(UnixTime time) {
  return time.time_since_epoch().count();
}

/// SQL for a moment, in whatever zone a session is.
std::string moment(std::int64_t ms, int us = 0) {
  return fmt::format(
      "(timestamp '1970-01-01' + make_interval(days => {}, secs => {}.{:03}{:03})) AT TIME ZONE 'UTC'",
      ms / 86'400'000, ms % 86'400'000 / 1000, ms % 1000, us);
}

/// IDs of every kind: of all widths, and about the ends of each field.
std::vector<std::int64_t> ids_for(const Layout& layout, std::mt19937_64& random) {
  std::vector<std::int64_t> ids{0, 1, std::numeric_limits<std::int64_t>::max(), -1,
                                std::numeric_limits<std::int64_t>::min()};
  for (int bits = 1; bits < 64; ++bits) {
    for (int i = 0; i < 4; ++i) ids.push_back(static_cast<std::int64_t>(random() >> bits));
  }
  for (int i = 0; i < 100; ++i) ids.push_back(-static_cast<std::int64_t>(random() >> 1));
  for (const UnixTime time : {layout.epoch(), layout.last_time()}) {
    for (const std::int64_t id : {layout.first_id(time), layout.last_id(time)}) {
      ids.push_back(id);
      if (id < std::numeric_limits<std::int64_t>::max()) ids.push_back(id + 1);
      ids.push_back(id - 1);
    }
  }
  for (int i = 0; i < 300; ++i) {
    const auto below = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random() >> 1) % (most + 1);
    };
    ids.push_back(layout.compose(layout.time_at(below(layout.max_ticks())), below(layout.max_worker()),
                                 below(layout.max_sequence())));
  }
  return ids;
}

/// What the library says, in the words of verdict().
template <typename Call>
std::string said(Call call) {
  try {
    return std::to_string(call());
  } catch (const leaf::Error& error) {
    return error.code() == ErrorCode::exhausted ? "22008" : "22023";
  }
}

/// A verdict as said() has it: without what a message says.
std::string kind_of(const std::string& verdict) {
  return verdict.substr(0, verdict.find('|'));
}

/// A store of a layout, with its functions.
struct Stage {
  TestDatabase database;
  leaf::Store store{{.url = database.url()}};

  Stage() { store.migrate(); }
  void set(const Layout& layout) {
    store.set_layout(layout);
    store.install_functions();
  }
  std::vector<leaf::StoreFunctions> installed() { return store.health().functions; }
};

}  // namespace

TEST_CASE_FIXTURE(Stage, "functions: they take IDs apart as the library does, in every layout") {
  std::mt19937_64 random(1);
  SqlSession& sql = database.sql();
  sql.run("SET TIME ZONE 'America/New_York'; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = sql_standard");
  for (const Layout& layout : layouts()) {
    CAPTURE(layout.text());
    set(layout);
    std::vector<std::int64_t> held, others;
    for (const std::int64_t id : ids_for(layout, random)) (layout.holds(id) ? held : others).push_back(id);
    REQUIRE(held.size() > 300);
    const auto rows =
        sql.rows(fmt::format("SELECT (extract(epoch FROM leaf_time(id) AT TIME ZONE 'UTC') * 1000)::bigint, "
                             "leaf_worker(id), leaf_sequence(id),"
                             " (leaf_time(id) AT TIME ZONE 'UTC')::time FROM unnest('{{{}}}'::bigint[]) WITH "
                             "ORDINALITY AS ids (id, nr) ORDER BY nr",
                             fmt::join(held, ",")));
    for (std::size_t i = 0; i < held.size(); ++i) {
      CAPTURE(held[i]);
      const leaf::DecodedId id = layout.decompose(held[i]);
      CHECK(rows[i][0] == std::to_string(unix_ms(id.time)));
      CHECK(rows[i][1] == std::to_string(id.worker));
      CHECK(rows[i][2] == std::to_string(id.sequence));
      // No fraction of a millisecond.
      CHECK(rows[i][3].size() <= 12);
    }
    for (std::size_t i = 0; i < others.size(); i += 1 + others.size() / 20) {
      CAPTURE(others[i]);
      const leaf::Error error = error_of([&] { layout.decompose(others[i]); });
      for (const char* function : {"leaf_time", "leaf_worker", "leaf_sequence"}) {
        CHECK(verdict(sql, fmt::format("SELECT {}('{}'::bigint)", function, others[i])) ==
              fmt::format("22003|{}|{}", error.what(), error.hint()));
      }
    }
  }
  CHECK(
      sql.value("SELECT concat(leaf_time(NULL), leaf_worker(NULL), leaf_sequence(NULL), leaf_id_at(NULL))") ==
      "");
}

TEST_CASE_FIXTURE(
    Stage,
    "functions: the least ID of a time, and bounds, are those of the library, and so are their edges") {
  std::mt19937_64 random(2);
  SqlSession& sql = database.sql();
  for (const Layout& layout : layouts()) {
    CAPTURE(layout.text());
    set(layout);
    const std::int64_t first = unix_ms(layout.epoch()), last = unix_ms(layout.last_time()),
                       unit = layout.unit().count();
    std::vector<std::int64_t> times;
    for (const std::int64_t edge : {first, last, last + unit, first + unit, (first / 2 + last / 2)}) {
      for (const std::int64_t by : {-1, 0, 1}) times.push_back(std::max<std::int64_t>(edge + by, 0));
    }
    for (int i = 0; i < 10; ++i)
      times.push_back(first + static_cast<std::int64_t>(random() >> 1) % (last - first + 1));
    for (const std::int64_t time : times) {
      CAPTURE(time);
      const UnixTime at{std::chrono::milliseconds(time)};
      const std::string wanted = said([&] { return layout.first_id(at); });
      for (const int us : {0, 1, 999})
        CHECK(kind_of(verdict(sql, "SELECT leaf_id_at(" + moment(time, us) + ")")) == wanted);
      for (const std::int64_t end :
           {time, time + 1, time + unit, time + unit + 1, time + 1000 * unit, last, last + unit}) {
        CAPTURE(end);
        const UnixTime to{std::chrono::milliseconds(end)};
        const std::string bounds = fmt::format("leaf_bounds({}, {})", moment(time), moment(end));
        std::string found = kind_of(verdict(sql, "SELECT first FROM " + bounds));
        if (found == "0A000" && !layout.ordered_by_time()) found = "22023";
        CHECK(found == said([&] { return layout.bounds(at, to).first; }));
        if (found != "22008" && found != "22023")
          CHECK(verdict(sql, "SELECT last FROM " + bounds) == std::to_string(layout.bounds(at, to).last));
      }
    }
    for (const char* time : {"infinity", "-infinity", "290000-01-01", "4000-01-01 BC"})
      CHECK(kind_of(verdict(sql, fmt::format("SELECT leaf_id_at('{}')", time))) == "22008");
  }
}

TEST_CASE_FIXTURE(Stage, "functions: a stretch holds just the IDs of its time, to the microsecond") {
  SqlSession& sql = database.sql();
  for (const char* text : {"leaf", "sonyflake", "baidu"}) {
    CAPTURE(text);
    const Layout layout = Layout::parse(text);
    set(layout);
    const std::int64_t unit = layout.unit().count(), begin = unix_ms(layout.epoch()) + 1'000'000 * unit;
    sql.run(
        fmt::format("CREATE TABLE made AS SELECT leaf_id_at({} + i * interval '{} ms') AS id FROM "
                    "generate_series(0, 20) i",
                    moment(begin), unit));
    for (const int us : {0, 1, 500, 999}) {
      for (const int from : {0, 1, 3}) {
        const std::string a = moment(begin + from * unit, us), b = moment(begin + 10 * unit, us);
        CHECK(sql.value(fmt::format(
                  "SELECT count(*) FROM made, leaf_bounds({0}, {1}) WHERE (id BETWEEN first AND last)"
                  " <> (leaf_time(id) >= {0} AND leaf_time(id) < {1})",
                  a, b)) == "0");
      }
    }
    sql.run("DROP TABLE made");
  }
}

TEST_CASE_FIXTURE(Stage, "functions: what is out of their range is said as the library says it") {
  set(Layout::parse("leaf"));
  SqlSession& sql = database.sql();
  sql.run("SET TIME ZONE 'UTC'");
  CHECK(verdict(sql, "SELECT leaf_id_at('2010-11-04 01:42:54.656999+00')") ==
        "22008|time '2010-11-04 01:42:54.656999+00' is before the epoch of layout 'leaf'|its first time is "
        "2010-11-04T01:42:54.657Z");
  CHECK(verdict(sql, "SELECT leaf_id_at('2090-01-01')") ==
        "22008|time '2090-01-01 00:00:00+00' is past the end of layout 'leaf'|its last time is "
        "2080-07-10T17:30:30.208Z");
  CHECK(verdict(sql, "SELECT first FROM leaf_bounds('2026-01-02', '2026-01-01')") ==
        "22023|the end '2026-01-01 00:00:00+00' of the stretch is not after its beginning '2026-01-02 "
        "00:00:00+00'|");
  CHECK(
      verdict(sql, "SELECT first FROM leaf_bounds('2026-01-01 00:00:00.0001', '2026-01-01 00:00:00.0002')") ==
      "22023|no unit of layout 'leaf' begins from '2026-01-01 00:00:00.0001+00' to before '2026-01-01 "
      "00:00:00.0002+00'|its times are 1ms apart; take a longer stretch");
  set(Layout::parse("worker:10,time:41,sequence:12"));
  CHECK(verdict(sql, "SELECT first FROM leaf_bounds('2026-01-01', '2026-01-02')")
            .starts_with("0A000|the IDs of layout 'worker:10,time:41,sequence:12/1ms@1288834974657' have no "
                         "bounds in time"));
}

TEST_CASE_FIXTURE(Stage,
                  "functions: PostgreSQL puts them in the place of their calls, and finds an index by them") {
  set(Layout::parse("leaf"));
  SqlSession& sql = database.sql();
  sql.run(
      "CREATE TABLE made (id bigint PRIMARY KEY); INSERT INTO made"
      " SELECT leaf_id_at(timestamptz '2026-01-01' + i * interval '1 minute') FROM generate_series(1, 20000) "
      "i; ANALYZE made");
  const auto plan = [&](const std::string& query) {
    std::string text;
    for (const auto& row : sql.rows("EXPLAIN (VERBOSE, COSTS OFF) " + query)) text += row[0] + "\n";
    return text;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  for (const char* condition :
       {"id >= leaf_id_at('2026-01-14')", "id >= leaf_id_at(now() - interval '1 day')",
        "id < leaf_id_at('2026-01-01 00:10:00+00')"}) {
    const std::string text = plan(
        std::string("SELECT leaf_time(id), leaf_worker(id), leaf_sequence(id) FROM made WHERE ") + condition);
    CAPTURE(text);
    CHECK(has(text, "Index Cond: "));
    for (const char* function :
         {"leaf_time(", "leaf_worker(", "leaf_sequence(", "leaf_id_at(", "leaf_units("})
      CHECK_FALSE(has(text, function));
  }
  const std::string bounds =
      plan("SELECT id FROM made, leaf_bounds('2026-01-02', '2026-01-03') WHERE id BETWEEN first AND last");
  CHECK(has(bounds, "Index Cond: ((made.id >= '"));
  CHECK_FALSE(has(bounds, "leaf_bounds"));
  // They are IMMUTABLE, so an index may be made of one.
  sql.run("CREATE INDEX made_at ON made (leaf_time(id)); ANALYZE made");
  CHECK(has(plan("SELECT id FROM made WHERE leaf_time(id) = '2026-01-02'"), "made_at"));
}

TEST_CASE_FIXTURE(
    Stage, "functions: installed again they change nothing, and defaults and indexes go on with them") {
  set(Layout::parse("leaf"));
  SqlSession& sql = database.sql();
  store.add_tag({.name = leaf::TagName("order"), .step = {}, .start = {}, .limit = {}, .description = {}});
  sql.run(
      "CREATE TABLE orders (id bigint DEFAULT leaf_next('order'), n integer); CREATE INDEX ON orders "
      "(leaf_time(id))");
  const std::string query =
      "SELECT md5(string_agg(pg_get_functiondef(p.oid) || p.oid, ' ' ORDER BY p.oid)) FROM pg_proc p"
      " WHERE proname LIKE 'leaf%'";
  const std::string before = sql.value(query);
  CHECK(store.install_functions() == "public");
  CHECK(sql.value(query) == before);
  sql.run("INSERT INTO orders (n) VALUES (1), (2)");
  CHECK(sql.value("SELECT string_agg(id::text, ' ') FROM orders") == "1 2");
}

TEST_CASE_FIXTURE(
    Stage, "functions: the script run by psql makes what the call makes, also where there is no store yet") {
  TestDatabase called, scripted;
  const auto definitions = [](TestDatabase& where) {
    return where.sql().value(
        "SELECT string_agg(replace(pg_get_functiondef(p.oid), (SELECT deployment::text FROM leaf_meta), ''), "
        "' ' ORDER BY p.oid)"
        " FROM pg_proc p WHERE p.prosrc LIKE E'\\n-- leaf functions %'");
  };
  leaf::Store first({.url = called.url()});
  first.migrate();
  first.install_functions();
  leaf::Store second({.url = scripted.url()});
  const std::string script = second.migration_script() + second.functions_script();
  leaf::test::run({leaf::test::postgresql_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1",
                   "--dbname", scripted.name()},
                  script);
  CHECK(!definitions(called).empty());
  CHECK(definitions(called) == definitions(scripted));
  REQUIRE(second.health().functions.size() == 1);
  CHECK(second.health().functions[0].state == State::current);
  // What was printed for a layout of before is refused.
  const std::string stale = second.functions_script();
  second.set_layout(Layout::parse("twitter"));
  CHECK_THROWS_WITH_AS(scripted.sql().run(stale), doctest::Contains("the store has another layout by now"),
                       std::runtime_error);
}

TEST_CASE_FIXTURE(Stage, "functions: those of another layout, deployment or release are known as such") {
  CHECK(installed().empty());
  database.sql().run("CREATE SCHEMA \"my app\"; CREATE SCHEMA \"it's\"");
  set(Layout::parse("leaf"));
  CHECK(store.install_functions("my app") == "my app");
  CHECK(store.install_functions("it's") == "it's");
  REQUIRE(installed().size() == 3);
  for (const auto& functions : installed()) {
    CHECK(functions.state == State::current);
    CHECK(functions.may_be_replaced);
    CHECK(functions.layout == "leaf");
  }
  store.set_layout(Layout::parse("twitter"));
  store.install_functions("my app");
  REQUIRE(installed().size() == 3);
  CHECK(installed()[1].schema == "my app");
  CHECK(installed()[1].state == State::current);
  CHECK(installed()[0].state == State::other_layout);
  CHECK(installed()[0].layout == "leaf");
  store.begin_new_deployment(store.identity().deployment);
  CHECK(installed()[1].state == State::other_deployment);
  store.install_functions("my app");
  CHECK(installed()[1].state == State::current);
  database.sql().run("SELECT leaf_time(1)");

  database.sql().run(
      R"(UPDATE pg_proc SET prosrc = regexp_replace(prosrc, '-- leaf functions \d+,', '-- leaf functions 1,'))");
  CHECK(installed()[1].state == State::older);
  database.sql().run("UPDATE pg_proc SET prosrc = regexp_replace(prosrc, ', schema \\d+,', ', schema 1,')");
  CHECK(installed()[1].state == State::refused);
  store.install_functions("my app");
  CHECK(installed()[1].state == State::current);
  // Whoever may create functions makes none that count as the store's.
  const TestRole other("LOGIN PASSWORD 'right'");
  database.sql().run("ALTER FUNCTION \"it's\".leaf_grant_ids(text, bigint) OWNER TO " + other.name());
  CHECK(installed().size() == 2);
  database.sql().run("DROP OWNED BY " + other.name());
}

TEST_CASE_FIXTURE(Stage,
                  "functions: those that look for the tables where they lay before are known as such") {
  SqlSession& sql = database.sql();
  sql.run("CREATE SCHEMA app; CREATE SCHEMA copy");
  store.add_tag({.name = leaf::TagName("order"), .step = {}, .start = {}, .limit = {}, .description = {}});
  store.install_functions();
  store.install_functions("app");
  sql.run("ALTER SCHEMA public RENAME TO before; ALTER DATABASE " + database.name() +
          " SET search_path = before");
  store = leaf::Store({.url = database.url()});
  REQUIRE(installed().size() == 2);
  for (const auto& functions : installed()) {
    CAPTURE(functions.schema);
    CHECK(functions.state == State::other_schema);
    CHECK(functions.may_be_replaced);
    store.install_functions(functions.schema);
  }
  REQUIRE(installed().size() == 2);
  for (const auto& functions : installed()) CHECK(functions.state == State::current);
  SqlSession session(database.url());
  CHECK(session.value("SELECT app.leaf_next('order') + leaf_next('order')") == "3");
  // Those of another store are its own, also where that is of the same deployment.
  sql.run(
      "CREATE TABLE copy.leaf_worker AS TABLE before.leaf_worker; CREATE TABLE copy.leaf_meta AS TABLE "
      "before.leaf_meta; CREATE TABLE copy.leaf_alloc AS TABLE "
      "before.leaf_alloc");
  leaf::Store other({.url = database.url("options='-c search_path=copy'")});
  CHECK(other.health().functions.empty());
}

TEST_CASE_FIXTURE(Stage, "functions: another owner of their schema could replace them, and is named") {
  const TestRole other("NOLOGIN");
  SqlSession& sql = database.sql();
  sql.run("CREATE SCHEMA app AUTHORIZATION " + other.name());
  store.install_functions("app");
  REQUIRE(installed().size() == 1);
  CHECK(installed()[0].schema_owner == other.name());
  CHECK(installed()[0].owner == sql.value("SELECT quote_ident(current_user)"));
  CHECK(installed()[0].creators.empty());
  sql.run("ALTER SCHEMA app OWNER TO CURRENT_USER");
  CHECK(installed()[0].schema_owner.empty());
}

TEST_CASE("functions: no name of a schema is taken for anything else, neither the store's nor theirs") {
  const std::string foreign_code = "a$function$,'','')||e.f($function$";
  const std::string names[] = {"NUMBER",
                               "TAG",
                               "NUMBER_0",
                               "TAG_0",
                               "$body$",
                               "$body_0$",
                               "$check$",
                               "$function$",
                               "$takeover$",
                               "$way$",
                               "$lock$",
                               "$foreign$",
                               "DEPLOYMENT_0",
                               "00000000-0000-0000-0000-000000000000",
                               "two\nlines; SELECT * FROM nothing; --",
                               "it's",
                               "back\\",
                               "back\\'||e.f('','x','')||'",
                               "@here@",
                               "@unused@",
                               "{role}",
                               "per%cent",
                               foreign_code,
                               "a$body$ LANGUAGE sql; SELECT e.f('', 'x', ''); --"};
  const auto quoted = [](const std::string& name) {
    std::string text = "\"";
    for (const char c : name) text.append(c == '"' ? 2 : 1, c);
    return text + '"';
  };
  const TestRole role("LOGIN PASSWORD 'right'");
  for (const std::string& name : names) {
    CAPTURE(name);
    TestDatabase database;
    SqlSession& sql = database.sql();
    sql.run(
        "CREATE SCHEMA e; CREATE TABLE e.ran (as_x text); CREATE FUNCTION e.f(s text, x text, y text) "
        "RETURNS text"
        " LANGUAGE plpgsql AS $$ BEGIN INSERT INTO e.ran VALUES (x); RETURN ''; END $$;"
        "CREATE SCHEMA ids; CREATE SCHEMA app; ALTER DATABASE " +
        database.name() + " SET search_path = ids");
    leaf::Store store({.url = database.url()});
    store.migrate();
    store.add_tag({.name = leaf::TagName("order"), .step = {}, .start = {}, .limit = {}, .description = {}});
    sql.run("ALTER SCHEMA app RENAME TO " + quoted(name));
    const auto draws = [&](const std::string& schema) {
      CHECK(store.install_functions(schema) == schema);
      const auto installed = store.health().functions;
      REQUIRE(installed.size() == 1);
      CHECK(installed[0].schema == schema);
      CHECK(installed[0].state == State::current);
      CHECK(!sql.value("SELECT " + quoted(schema) + ".leaf_next('order')").empty());
      CHECK(sql.value("SELECT count(*) FROM " + quoted(schema) + ".leaf_next('order', 3)") == "3");
      CHECK(sql.value("SELECT leaf_time IS NOT NULL FROM " + quoted(schema) + ".leaf_time(1)") == "t");
    };
    draws(name);
    CHECK(sql.value("SELECT count(*) FROM e.ran") == "0");

    // The tables' schema likewise: by the functions, the rights of a runtime role and all migrations.
    sql.run("DROP SCHEMA " + quoted(name) + " CASCADE; DROP SCHEMA ids CASCADE; CREATE SCHEMA " +
            quoted(name) + "; ALTER DATABASE " + database.name() + " SET search_path = " + quoted(name));
    store = leaf::Store({.url = database.url()});
    CHECK(!store.migrate().empty());
    store.grant_runtime_role(role.name());
    store.add_tag({.name = leaf::TagName("order"), .step = {}, .start = {}, .limit = {}, .description = {}});
    draws(name);
    CHECK(sql.value("SELECT count(*) FROM e.ran") == "0");
    sql.run("DROP OWNED BY " + role.name());
  }
}

TEST_CASE_FIXTURE(Stage,
                  "functions: a schema that is not there, and names that others have taken, are refused") {
  CHECK(error_of([&] { store.install_functions("nowhere"); }).code() == ErrorCode::usage);
  CHECK(error_of([&] { store.functions_script("nowhere"); }).code() == ErrorCode::usage);
  const TestRole other("LOGIN PASSWORD 'right'");
  database.sql().run("CREATE SCHEMA app; GRANT USAGE, CREATE ON SCHEMA app TO " + other.name());
  SqlSession intruder(database.url("user=" + other.name() + " password=right"));
  intruder.run("CREATE FUNCTION app.leaf_next(tag text) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'");
  leaf::Error error = error_of([&] { store.install_functions("app"); });
  CHECK(error.code() == ErrorCode::refused);
  CHECK(std::string(error.what())
            .ends_with("functions of these names are another role's: app.leaf_next(text) of role '" +
                       other.name() + "'"));
  CHECK(error.hint() == "install them as that role, or drop those, or choose another schema");
  intruder.run("DROP FUNCTION app.leaf_next(text)");
  // One's own is not replaced either, if it is another one.
  database.sql().run(
      "CREATE FUNCTION app.leaf_time(id bigint) RETURNS text LANGUAGE sql AS 'SELECT NULL::text'");
  error = error_of([&] { store.install_functions("app"); });
  CHECK(error.code() == ErrorCode::refused);
  CHECK(
      std::string(error.what()).ends_with("there are other functions of these names: app.leaf_time(bigint)"));
  CHECK(error.hint() == "drop or rename those, or choose another schema");
  database.sql().run("DROP FUNCTION app.leaf_time(bigint)");
  store.install_functions("app");
  // Who may not change the tables installs nothing.
  store.grant_runtime_role(other.name());
  leaf::Store runtime({.url = database.url("user=" + other.name() + " password=right")});
  error = error_of([&] { runtime.install_functions("app"); });
  CHECK(error.code() == ErrorCode::usage);
  CHECK(error.sqlstate() == "42501");
  database.sql().run("DROP OWNED BY " + other.name());
}
