#include <doctest/doctest.h>

#include <string>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/grant_audit.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::TestDatabase;

namespace {

const leaf::TagName order("order");

/// Leaf's table in the ways that its users have translated it from MySQL.
struct Variant {
  std::string name;
  std::string table;
};
const Variant variants[] = {
    {"as Leaf's own",
     "CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '' PRIMARY KEY, max_id bigint NOT NULL "
     "DEFAULT 1, step integer NOT NULL, description varchar(256), update_time timestamptz NOT NULL DEFAULT "
     "CURRENT_TIMESTAMP)"},
    {"a bigserial id as the key",
     "CREATE TABLE leaf_alloc (id bigserial PRIMARY KEY, biz_tag varchar(128) NOT NULL, max_id bigint NOT "
     "NULL DEFAULT 1, step integer NOT NULL, description varchar(256), update_time timestamp)"},
    {"an identity as the key",
     "CREATE TABLE leaf_alloc (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, biz_tag varchar(128) NOT "
     "NULL, max_id bigint NOT NULL, step integer NOT NULL, description text, update_time timestamptz)"},
    {"narrow columns and no zone",
     "CREATE TABLE leaf_alloc (biz_tag varchar(64) NOT NULL UNIQUE, max_id integer NOT NULL, step smallint "
     "NOT NULL, description varchar(100), update_time timestamp(0) NOT NULL DEFAULT now())"},
    {"padded names, no key, and a description that may not be null",
     "CREATE TABLE leaf_alloc (biz_tag char(32), max_id numeric(20), step bigint, "
     "description varchar(256) NOT NULL DEFAULT '')"},
};

}  // namespace

TEST_CASE("take-over: every kind of Leaf's table keeps its values and gives IDs from where it was") {
  for (const Variant& variant : variants) {
    CAPTURE(variant.name);
    TestDatabase database;
    database.sql().run(variant.table);
    database.sql().run(
        "INSERT INTO leaf_alloc (biz_tag, max_id, step, description) VALUES ('order', 1, 2000, 'the "
        "orders'), "
        "('user', 1234567, 500, 'the users')");
    leaf::Store store({.url = database.url()});
    store.migrate();

    const leaf::Tag taken = store.tag(leaf::TagName("user"));
    CHECK(taken.next_id == 1234567);
    CHECK(taken.step == 500);
    CHECK(taken.description == "the users");
    CHECK(!taken.start);
    CHECK(!taken.limit);
    CHECK(store.tags().size() == 2);

    leaf::test::GrantAudit audit(database.url());
    const leaf::Grant first = store.grant_segment(order);
    CHECK(first.range == leaf::Range{1, 2001});
    CHECK(first.step == 2000);
    audit.given("order", first.range);

    // Wide enough for what Leaf's own columns hold.
    const std::string longest(128, 'x');
    const leaf::Tag added = store.add_tag({.name = leaf::TagName(longest),
                                           .step = leaf::max_step,
                                           .start = 5'000'000'000,
                                           .limit = {},
                                           .description = std::string(256, 'd')});
    CHECK(added.next_id == 5'000'000'000);
    CHECK(
        store
            .add_tag({.name = leaf::TagName("bare"), .step = {}, .start = {}, .limit = {}, .description = {}})
            .next_id == 1);
    CHECK(store.grant_segment(leaf::TagName(longest)).range.lo == 5'000'000'000);
  }
}

TEST_CASE("take-over: an id column without a default goes on after its greatest value") {
  for (const std::string keys : {"id bigint NOT NULL, biz_tag varchar(128) PRIMARY KEY",
                                 "id integer PRIMARY KEY, biz_tag varchar(128) NOT NULL"}) {
    CAPTURE(keys);
    TestDatabase database;
    database.sql().run("CREATE TABLE leaf_alloc (" + keys +
                       ", max_id bigint NOT NULL, step integer NOT NULL, description varchar(256), "
                       "update_time timestamp);"
                       "INSERT INTO leaf_alloc VALUES (41, 'order', 1, 2000), (12, 'user', 9, 10)");
    leaf::Store store({.url = database.url()});
    store.migrate();
    CHECK(store.tag(order).description.empty());
    store.add_tag({.name = leaf::TagName("added"), .step = {}, .start = {}, .limit = {}, .description = {}});
    CHECK(database.sql().value("SELECT id FROM leaf_alloc WHERE biz_tag = 'added'") == "42");
    CHECK(database.sql().value("SELECT id FROM leaf_alloc WHERE biz_tag = 'order'") == "41");
  }
}

TEST_CASE("take-over: a time without a zone keeps its moment") {
  TestDatabase database;
  database.sql().run(
      "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint NOT NULL, step integer NOT "
      "NULL, "
      "update_time timestamp);"
      "INSERT INTO leaf_alloc VALUES ('order', 1, 2000, '2021-02-03 04:05:06')");
  leaf::Store store({.url = database.url("options='-c timezone=Asia/Shanghai'")});
  store.migrate();
  const auto updated = store.tag(order).updated_at.time_since_epoch();
  CHECK(std::chrono::duration_cast<std::chrono::seconds>(updated).count() == 1612296306);
}

TEST_CASE("take-over: rows that no tag can be are refused by what is wrong, and stay as they are") {
  const struct {
    std::string rows;
    std::string complaint;
  } cases[] = {
      {"('order', 1, 1000), ('order', 2001, 1000)", "more than one row for a biz_tag"},
      {"(NULL, 1, 1000)", "rows without biz_tag, max_id or step"},
      {"('order', NULL, 1000)", "rows without biz_tag, max_id or step"},
      {"('order', 1, NULL)", "rows without biz_tag, max_id or step"},
      {"('order', -5, 1000)", "max_id below 0"},
  };
  for (const auto& wrong : cases) {
    CAPTURE(wrong.rows);
    TestDatabase database;
    database.sql().run("CREATE TABLE leaf_alloc (biz_tag varchar(128), max_id bigint, step integer)");
    database.sql().run("INSERT INTO leaf_alloc VALUES " + wrong.rows);
    const std::string rows = "SELECT string_agg(t::text, ' ') FROM leaf_alloc t";
    const std::string before = database.sql().value(rows);
    leaf::Store store({.url = database.url()});
    const leaf::Error error = error_of([&] { store.migrate(); });
    CHECK(error.code() == leaf::ErrorCode::failed);
    CHECK(std::string(error.what()).find(wrong.complaint) != std::string::npos);
    CHECK(database.sql().value(rows) == before);
    CHECK(database.sql().value("SELECT to_regclass('leaf_meta') IS NULL") == "t");
  }
}

TEST_CASE("take-over: a deferrable key, which no upsert can use, is refused") {
  TestDatabase database;
  database.sql().run(
      "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY DEFERRABLE, max_id bigint, step integer)");
  leaf::Store store({.url = database.url()});
  const std::string message = error_of([&] { store.migrate(); }).what();
  CHECK(message.find("drop it first") != std::string::npos);
}

TEST_CASE("take-over: a partitioned table, which the guard cannot see through, is refused") {
  TestDatabase database;
  database.sql().run(
      "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint, step integer)"
      " PARTITION BY HASH (biz_tag);"
      "CREATE TABLE leaf_alloc_0 PARTITION OF leaf_alloc FOR VALUES WITH (MODULUS 1, REMAINDER 0)");
  leaf::Store store({.url = database.url()});
  CHECK(std::string(error_of([&] { store.migrate(); }).what()).find("leaf_alloc is partitioned") !=
        std::string::npos);
  CHECK(database.sql().value("SELECT to_regclass('leaf_meta') IS NULL") == "t");
}

TEST_CASE("take-over: Leaf's own statements keep working beside grants") {
  TestDatabase database;
  database.sql().run(variants[0].table);
  database.sql().run("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 1, 2000)");
  leaf::Store store({.url = database.url()});
  store.migrate();
  leaf::test::GrantAudit audit(database.url());
  std::int64_t next = 1;
  for (int round = 0; round < 3; ++round) {
    const leaf::Range ours = store.grant_segment(order).range;
    CHECK(ours == leaf::Range{next, next + 2000});
    audit.given("order", ours);
    database.sql().run("BEGIN; UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'order'");
    const auto row =
        database.sql().rows("SELECT max_id - step, max_id FROM leaf_alloc WHERE biz_tag = 'order'");
    database.sql().run("COMMIT");
    const leaf::Range theirs{std::stoll(row[0][0]), std::stoll(row[0][1])};
    CHECK(theirs == leaf::Range{next + 2000, next + 4000});
    audit.given("order", theirs);
    next += 4000;
  }
  // As Leaf's users add tags.
  database.sql().run(
      "INSERT INTO leaf_alloc (biz_tag, max_id, step, description) VALUES ('new', 1, 10, 'x')");
  CHECK(store.grant_segment(leaf::TagName("new")).range == leaf::Range{1, 11});
}
