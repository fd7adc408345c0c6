#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;
using leaf::test::TestRole;

namespace {

const leaf::TagName order("order");

/// A key of the intruder's, and what a row would keep of it.
const std::string own_key = "'11111111-2222-4333-8444-555555555555'::uuid";
const std::string own_hash = "left(encode(sha256(uuid_send(" + own_key + ")), 'hex'), 32)::uuid";

/// What is tried of a column of this type, as it stands in a statement.
std::vector<std::string> values_of(const std::string& type) {
  if (type == "bigint" || type == "integer") {
    std::vector<std::string> values{"0", "1", "-1", "NULL", "2147483647"};
    if (type == "integer") return values;
    for (const char* more :
         {"9223372036854775807", "-9223372036854775808", "1000000000000000", "{0} - 1", "{0} + 1"})
      values.emplace_back(more);
    return values;
  }
  if (type == "uuid") return {"NULL", "gen_random_uuid()", own_key, own_hash};
  if (type == "boolean") return {"true", "false", "NULL"};
  if (type.starts_with("timestamp")) return {"now()", "'infinity'", "'-infinity'", "'0001-01-01'", "NULL"};
  if (type == "oid") return {"0", "NULL", "'leaf_alloc'::regclass"};
  return {"'x'", "''", "NULL"};
}

struct Column {
  std::string table, name;
  std::vector<std::string> values;
};

/// A store whose hosts have drawn and leased, an intruder with the rights of a runtime role and CREATE on the
/// schema, and what must hold whatever it does.
class Stage {
 public:
  Stage() {
    owner_.migrate();
    owner_.add_tag({.name = order, .step = 10, .start = {}, .limit = {}, .description = {}});
    owner_.set_worker_range(leaf::WorkerRange{.first = 0, .last = 511});
    owner_.grant_runtime_role(role_.name());
    database_.sql().run("GRANT CREATE ON SCHEMA public TO " + role_.name());
    intruder_ = std::make_unique<SqlSession>(database_.url("user=" + role_.name() + " password=right"));
    given_ = owner_.grant(order, 500).range.hi;
    sql().run("CREATE SCHEMA seen; CREATE TABLE seen.used (worker_id integer, until bigint)");
    for (int host = 0; host < 3; ++host) {
      auto lease = owner_.acquire_worker({.owner = fmt::format("host{}", host)});
      keys_.push_back(lease.token);
      if (host == 1) owner_.give_up_worker(lease, lease.end);  // it used all
      sql().run(fmt::format(
          "INSERT INTO seen.used VALUES ({}, {})", lease.worker,
          std::chrono::duration_cast<std::chrono::milliseconds>(lease.end.time_since_epoch()).count()));
    }
    for (const auto& row : sql().rows("SELECT relname, attname, format_type(atttypid, NULL) FROM "
                                      "pg_attribute a JOIN pg_class c ON c.oid = attrelid"
                                      " WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND "
                                      "attnum > 0 AND NOT attisdropped"
                                      " ORDER BY relname, attnum")) {
      columns_.push_back({row[0], row[1], values_of(row[2])});
    }
    settings_ = settings();
    schema_ = schema();
  }

  SqlSession& sql() { return database_.sql(); }
  leaf::Store& owner() { return owner_; }
  std::string url() const { return database_.url(); }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::string>& keys() const { return keys_; }
  std::vector<std::string> tables() const { return {"leaf_alloc", "leaf_meta", "leaf_worker"}; }

  /// Tries it as the intruder, and looks at what must hold if it could.
  bool attempt(const std::string& statement) {
    try {
      intruder_->run(statement);
    } catch (const std::runtime_error&) {
      return false;
    }
    ++successes_;
    INFO("the intruder could: ", statement);
    const auto held = sql().rows(
        "SELECT (SELECT max_id FROM leaf_alloc WHERE biz_tag = 'order') >= $1::bigint,"
        " (SELECT count(*) FROM seen.used u LEFT JOIN leaf_worker w USING (worker_id)"
        "  WHERE w.window_end IS NULL OR w.window_end < u.until),"
        " (SELECT count(*) FROM leaf_worker WHERE worker_id > 511"
        "  AND window_end > extract(epoch FROM clock_timestamp()) * 1000)",
        {std::to_string(given_)});
    CHECK(held[0][0] == "t");
    CHECK(held[0][1] == "0");
    CHECK(held[0][2] == "0");
    REQUIRE(settings() == settings_);
    return true;
  }

  void check_after() {
    CHECK(successes_ > 0);
    CHECK(schema() == schema_);
    // Others still list, and draw what was not drawn.
    CHECK(owner_.workers().size() >= 3);
    CHECK(owner_.tags().size() == 1);
    sql().run("UPDATE leaf_alloc SET id_limit = NULL");
    if (sql().value("SELECT max_id < 9000000000000000000 FROM leaf_alloc") == "t")
      CHECK(owner_.grant(order, 5).range.lo >= given_);
  }

 private:
  /// What no runtime role changes.
  std::string settings() {
    return sql().value(
        "SELECT (SELECT (to_jsonb(a) - 'max_id' - 'last_grant' - 'update_time')::text FROM leaf_alloc a)"
        " || (SELECT (to_jsonb(m) - 'next_worker')::text FROM leaf_meta m)"
        " || (SELECT (m.next_worker >= 3)::text FROM leaf_meta m)");
  }
  std::string schema() {
    return sql().value(
        "SELECT (SELECT string_agg(concat(relname, relowner, relacl::text, relrowsecurity), ' ' ORDER BY "
        "relname)"
        "  FROM pg_class WHERE relname LIKE 'leaf%')"
        " || (SELECT string_agg(concat(tgname, tgenabled), ' ' ORDER BY tgname) FROM pg_trigger)"
        " || (SELECT string_agg(concat(proname, prosrc, proowner), ' ' ORDER BY proname, prosrc) FROM pg_proc"
        "  WHERE proname LIKE 'leaf%')");
  }

  TestRole role_{"LOGIN PASSWORD 'right'"};
  TestDatabase database_;
  leaf::Store owner_{{.url = database_.url()}};
  std::unique_ptr<SqlSession> intruder_;
  std::vector<Column> columns_;
  std::vector<std::string> keys_;
  std::int64_t given_ = 0;
  std::string settings_, schema_;
  int successes_ = 0;
};

std::string assignment(const Column& column, const std::string& value) {
  std::string text = value;
  if (const auto at = text.find("{0}"); at != std::string::npos) text.replace(at, 3, column.name);
  return column.name + " = " + text;
}

}  // namespace

TEST_CASE_FIXTURE(
    Stage, "rights: no column that a runtime role writes lets an ID come again, or changes a setting") {
  for (const Column& column : columns()) {
    for (const std::string& value : column.values) {
      attempt("UPDATE " + column.table + " SET " + assignment(column, value));
      attempt(fmt::format("INSERT INTO {} ({}) VALUES ({})", column.table, column.name,
                          value.find('{') == std::string::npos ? value : "7"));
    }
  }
  for (const std::string& table : tables()) {
    attempt("DELETE FROM " + table);
    attempt("TRUNCATE " + table);
    attempt("TRUNCATE " + table + " CASCADE");
    attempt("DROP TABLE " + table);
    attempt("ALTER TABLE " + table + " DISABLE TRIGGER ALL");
    attempt("ALTER TABLE " + table + " ENABLE ROW LEVEL SECURITY");
    attempt("CREATE TRIGGER t BEFORE UPDATE ON " + table +
            " FOR EACH ROW EXECUTE FUNCTION leaf_alloc_refuse()");
    attempt("CREATE RULE r AS ON UPDATE TO " + table + " DO INSTEAD NOTHING");
    attempt("CREATE TABLE child_of_" + table + " () INHERITS (" + table + ")");
    attempt("GRANT ALL ON " + table + " TO PUBLIC");
  }
  attempt("SET session_replication_role = replica; UPDATE leaf_worker SET window_end = 0");
  attempt(
      "CREATE OR REPLACE FUNCTION leaf_server(meta oid) RETURNS text LANGUAGE sql AS 'SELECT NULL::text'");
  check_after();
}

TEST_CASE_FIXTURE(Stage, "rights: nor do two columns at once") {
  for (std::size_t i = 0; i < columns().size(); ++i) {
    for (std::size_t j = i + 1; j < columns().size(); ++j) {
      const Column &one = columns()[i], &other = columns()[j];
      // Of a table that it may not write each column was tried.
      if (one.table != other.table || one.table != "leaf_worker") continue;
      for (const std::string& value : one.values)
        for (const std::string& with : other.values)
          attempt("UPDATE leaf_worker SET " + assignment(one, value) + ", " + assignment(other, with));
    }
  }
  check_after();
}

TEST_CASE_FIXTURE(Stage, "rights: nor do the ways of a holder, in any order") {
  const std::vector<std::string> ways{
      "token = " + own_hash,
      "token = " + own_hash + ", held_after = window_end",
      "token = " + own_hash + ", held_after = window_end, window_end = window_end + 1",
      "token = " + own_hash + ", held_after = 0",
      "token = " + own_key + ", window_end = held_after",
      "token = " + own_key + ", window_end = window_end - 1",
      "token = NULL",
      "token = NULL, owner = NULL",
      "token = NULL, window_end = held_after",
      "token = token, window_end = held_after",
      "window_end = window_end + 1",
      "held_after = window_end",
      "held_after = held_after - 1",
      "renewed_at = 0",
      "owner = 'host1'",
  };
  for (const char* worker : {"0", "1", "2"})
    CHECK_FALSE(attempt("UPDATE leaf_worker SET " + ways[0] + " WHERE worker_id = " + worker));
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    attempt(fmt::format("UPDATE leaf_worker SET {} WHERE worker_id = {}", ways[random() % ways.size()],
                        random() % 3));
  }
  check_after();
}

TEST_CASE_FIXTURE(Stage,
                  "rights: the key of a holder is nowhere to be read, and what is read gives up nothing") {
  const std::string rows = sql().value("SELECT string_agg(w::text, ' ') FROM leaf_worker w");
  for (const std::string& key : keys()) CHECK(rows.find(key) == std::string::npos);
  CHECK_FALSE(attempt("UPDATE leaf_worker SET token = token, window_end = held_after WHERE worker_id = 0"));
  CHECK_FALSE(attempt("UPDATE leaf_worker SET token = NULL, window_end = held_after WHERE worker_id = 0"));
  // Its holder does give up.
  CHECK_NOTHROW(sql().run("TRUNCATE seen.used"));
  CHECK(attempt("UPDATE leaf_worker SET token = '" + keys()[0] +
                "', window_end = held_after WHERE worker_id = 0"));
  CHECK(sql().value(
            "SELECT token IS NULL AND window_end = held_after FROM leaf_worker WHERE worker_id = 0") == "t");
  // Who takes a worker then gives up no more than that.
  CHECK(attempt("UPDATE leaf_worker SET owner = 'host3', token = " + own_hash +
                ", held_after = window_end, window_end = window_end + 1000 WHERE worker_id = 1"));
  const std::string gives_up = "UPDATE leaf_worker SET token = " + own_key + ", window_end = held_after";
  CHECK_FALSE(attempt(gives_up + " - 1 WHERE worker_id = 1"));
  CHECK_FALSE(attempt(gives_up + " + 1001 WHERE worker_id = 1"));
  CHECK(attempt(gives_up + " WHERE worker_id = 1"));
}

TEST_CASE_FIXTURE(Stage, "rights: a holder whose token is put back is leased no time of others") {
  // As earlier programs ask, each of which believes what it gets.
  const auto renewed = [&](std::int64_t from, std::int64_t clock_offset = 0) {
    return sql().rows(
        "WITH now AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms)"
        " UPDATE leaf_worker SET window_end = greatest(window_end, greatest($2::bigint, ms) + 1000),"
        " renewed_at = ms, clock_offset = $3::bigint FROM now"
        " WHERE worker_id = 0 AND token = left(encode(sha256(uuid_send($1::uuid)), 'hex'), 32)::uuid"
        " RETURNING greatest($2::bigint, ms), (SELECT deployment FROM leaf_meta)",
        {keys()[0], std::to_string(from), std::to_string(clock_offset)});
  };
  const auto end_of_all = [&] {
    return std::stoll(sql().value("SELECT window_end FROM leaf_worker WHERE worker_id = 0"));
  };
  const std::int64_t own_end = end_of_all();
  const std::string known = sql().value("SELECT token FROM leaf_worker WHERE worker_id = 0");
  CHECK(renewed(own_end).size() == 1);
  // Another takes the worker, and uses its window.
  CHECK(attempt("UPDATE leaf_worker SET owner = NULL, token = NULL WHERE worker_id = 0"));
  sql().run("UPDATE leaf_worker SET owner = 'another', token = " + own_hash +
            ", held_after = window_end, window_end = window_end + 60000 WHERE worker_id = 0");
  CHECK(
      attempt("UPDATE leaf_worker SET token = '" + known + "', held_after = window_end WHERE worker_id = 0"));

  SUBCASE("by a program of before") {
    CHECK(renewed(own_end).empty());
  }
  SUBCASE("whose host's clock is ahead") {
    CHECK(renewed(own_end, 86400000).empty());
  }
  SUBCASE("with a longer window of its own") {
    CHECK(attempt("UPDATE leaf_worker SET window_end = window_end + 1000 WHERE worker_id = 0"));
    CHECK(renewed(own_end).empty());
  }
  SUBCASE("where the tables lack the trigger") {
    sql().run("ALTER TABLE leaf_worker DISABLE TRIGGER leaf_worker_held_before");
    const leaf::WorkerLease lease{.worker = 0,
                                  .token = keys()[0],
                                  .begin = {},
                                  .end = leaf::UnixTime(std::chrono::milliseconds(own_end)),
                                  .store = owner().identity()};
    CHECK(error_of([&] { owner().renew_worker(lease, {.owner = "host0"}); }).code() ==
          leaf::ErrorCode::not_found);
  }
  SUBCASE("once all windows of before are over") {
    sql().run(
        "ALTER TABLE leaf_worker DISABLE TRIGGER USER;"
        "UPDATE leaf_worker SET held_after = held_after - 86400000, window_end = window_end - 86400000 WHERE "
        "worker_id = 0;"
        "ALTER TABLE leaf_worker ENABLE TRIGGER USER");
    const std::int64_t end = end_of_all();
    const auto rows = renewed(own_end - 86400000);
    REQUIRE(rows.size() == 1);
    CHECK(std::stoll(rows[0][0]) >= end);
  }
}

TEST_CASE_FIXTURE(Stage,
                  "rights: not even the owner deletes what was granted, but by a change of the schema") {
  for (const std::string table : {"leaf_alloc", "leaf_worker"}) {
    CHECK_THROWS_WITH(sql().run("DELETE FROM " + table), doctest::Contains("may not be deleted"));
    CHECK_THROWS_WITH(sql().run("TRUNCATE " + table), doctest::Contains("may not be deleted"));
  }
}

TEST_CASE_FIXTURE(Stage, "rights: not even the owner gives a worker that is leased another number") {
  // Its own number would be free then, and leased anew in the same window.
  CHECK_THROWS_WITH(sql().run("UPDATE leaf_worker SET worker_id = 900 WHERE worker_id = 0"),
                    doctest::Contains("a worker may not be deleted"));
}

TEST_CASE("rights: a role that could not draw, since it may not ask which server it is, is not let in") {
  const TestRole role{"LOGIN PASSWORD 'right'"};  // goes after the database
  TestDatabase database;
  leaf::Store owner({.url = database.url()});
  owner.migrate();
  owner.add_tag({.name = order, .step = 10, .start = {}, .limit = {}, .description = {}});
  database.sql().run(
      "REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn), pg_relation_filepath(regclass) FROM PUBLIC");
  const leaf::Error error = error_of([&] { owner.grant_runtime_role(role.name()); });
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(std::string(error.what()).find("role '" + role.name() + "' may not ask") != std::string::npos);
  CHECK(error.hint() ==
        "as a superuser, run 'GRANT EXECUTE ON FUNCTION pg_walfile_name(pg_lsn), "
        "pg_relation_filepath(regclass) TO " +
            role.name() + "'");
  // As the hint says.
  database.sql().run("GRANT EXECUTE ON FUNCTION pg_walfile_name(pg_lsn), pg_relation_filepath(regclass) TO " +
                     role.name());
  owner.grant_runtime_role(role.name());
  leaf::Store shop({.url = database.url("user=" + role.name() + " password=right")});
  CHECK(shop.grant(order, 1).range == leaf::Range{1, 2});
}

TEST_CASE_FIXTURE(Stage, "rights: nobody counts workers as taken that nobody took") {
  CHECK_FALSE(attempt("UPDATE leaf_meta SET next_worker = next_worker + 1"));
  CHECK_FALSE(attempt("UPDATE leaf_meta SET next_worker = next_worker + 1, layout_fixed = true"));
  CHECK(owner().acquire_worker({.owner = "host3"}).worker == 3);
}

TEST_CASE_FIXTURE(Stage, "rights: workers that were counted as taken before are free again") {
  sql().run(
      "ALTER TABLE leaf_meta DISABLE TRIGGER USER;"
      "UPDATE leaf_meta SET next_worker = 512, schema_version = 8;"
      "ALTER TABLE leaf_meta ENABLE TRIGGER USER;"
      "ALTER TABLE leaf_meta DROP COLUMN granted_before, DROP COLUMN leases_before;"
      "DROP FUNCTION leaf_meta_counted, leaf_meta_fixed, leaf_worker_not_renewed CASCADE;"
      "DROP TRIGGER leaf_alloc_guarded ON leaf_alloc;"
      "ALTER TABLE leaf_alloc DROP COLUMN checked_since, DROP COLUMN checked_as");
  owner().acquire_worker({.owner = "pinned", .worker = 4});
  leaf::Store upgraded{{.url = url()}};
  upgraded.migrate();
  CHECK(upgraded.acquire_worker({.owner = "host3"}).worker == 3);
  CHECK(upgraded.acquire_worker({.owner = "host5"}).worker == 5);
  CHECK_FALSE(attempt("UPDATE leaf_meta SET next_worker = next_worker - 1"));
}

TEST_CASE_FIXTURE(Stage, "rights: no worker outside of the range is leased, nor is that changed") {
  for (const std::string statement :
       {"UPDATE leaf_meta SET first_worker = 0", "UPDATE leaf_meta SET last_worker = 1023",
        "UPDATE leaf_meta SET last_worker = NULL, next_worker = next_worker",
        "INSERT INTO leaf_worker (worker_id, owner, token, window_end, renewed_at, held_after, clock_offset)"
        " VALUES (600, 'a', gen_random_uuid(), extract(epoch FROM now()) * 1000 + 60000, 0, 0, 0)",
        "INSERT INTO leaf_worker (worker_id, owner, token, window_end, renewed_at, held_after, clock_offset)"
        " VALUES (600, 'a', gen_random_uuid(), 0, extract(epoch FROM clock_timestamp()) * 1000, 0, 0)"}) {
    CAPTURE(statement);
    CHECK_FALSE(attempt(statement));
  }
  // One that was leased before the range was set.
  sql().run(
      "ALTER TABLE leaf_worker DISABLE TRIGGER USER;"
      "INSERT INTO leaf_worker (worker_id, owner, token, window_end, renewed_at, held_after, clock_offset)"
      " VALUES (600, 'a', gen_random_uuid(), 0, 0, 0, 0);"
      "ALTER TABLE leaf_worker ENABLE TRIGGER USER");
  attempt(
      "UPDATE leaf_worker SET window_end = extract(epoch FROM now()) * 1000 + 60000, held_after = window_end"
      " WHERE worker_id = 600");
  CHECK(sql().value("SELECT window_end FROM leaf_worker WHERE worker_id = 600") == "0");
}

TEST_CASE_FIXTURE(Stage, "rights: what counts for the guard, or for others, is kept in bounds") {
  for (const std::string statement :
       {"UPDATE leaf_alloc SET last_grant = 0", "UPDATE leaf_alloc SET last_grant = -1, max_id = max_id + 1",
        "UPDATE leaf_alloc SET update_time = 'infinity'",
        "UPDATE leaf_meta SET next_worker = next_worker - 1",
        "UPDATE leaf_meta SET next_worker = next_worker + 1", "UPDATE leaf_meta SET next_worker = 1000",
        "UPDATE leaf_meta SET layout_fixed = false",
        "UPDATE leaf_worker SET renewed_at = -9223372036854775808",
        "UPDATE leaf_worker SET renewed_at = 9007199254740991",
        "INSERT INTO leaf_worker (worker_id, window_end, renewed_at, held_after, clock_offset)"
        " VALUES (9, 0, 9007199254740991, 0, 0)",
        "UPDATE leaf_worker SET window_end = window_end + 4::bigint * 86400000",
        "INSERT INTO leaf_worker (worker_id, window_end, renewed_at, held_after, clock_offset)"
        " VALUES (9, 4000000000000, 0, 0, 0)"}) {
    CAPTURE(statement);
    CHECK_FALSE(attempt(statement));
  }
  CHECK(attempt("UPDATE leaf_alloc SET last_grant = 3, max_id = max_id + 3"));
  CHECK(attempt("UPDATE leaf_alloc SET max_id = max_id + step"));  // as Leaf's own servers
  check_after();
}

TEST_CASE("rights: nobody has a store without workers wait for those of another server") {
  const TestRole role("LOGIN PASSWORD 'right'");
  TestDatabase database;
  leaf::Store owner({.url = database.url()});
  owner.migrate();
  owner.grant_runtime_role(role.name());
  SqlSession intruder(database.url("user=" + role.name() + " password=right"));
  for (int time = 0; time < 2; ++time) {
    CHECK_THROWS_WITH_AS(intruder.run("UPDATE leaf_meta SET layout_fixed = true"),
                         doctest::Contains("the layout is fixed only when a worker is taken"),
                         std::runtime_error);
  }
  CHECK_NOTHROW(owner.set_layout(leaf::Layout::parse("twitter")));
  CHECK(owner.acquire_worker({.owner = "host"}).worker == 0);
  CHECK(database.sql().value("SELECT layout_fixed FROM leaf_meta") == "t");
  database.sql().run("DROP OWNED BY " + role.name());
}
