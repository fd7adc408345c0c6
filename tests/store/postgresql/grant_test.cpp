#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/grant_audit.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::proposes;

namespace {

const leaf::TagName order("order");

leaf::Store migrated(const std::string& url) {
  leaf::Store store({.url = url});
  store.migrate();
  return store;
}

/// A database with a schema, an audit and a store on it.
struct Fixture {
  leaf::Tag add(std::optional<std::int64_t> step, std::optional<std::int64_t> start = {},
                std::optional<std::int64_t> limit = {}) {
    return store.add_tag({.name = order, .step = step, .start = start, .limit = limit, .description = {}});
  }
  leaf::Range given(leaf::Range range) {
    audit.given("order", range);
    return range;
  }

  leaf::test::TestDatabase database;
  leaf::Store store = migrated(database.url());
  leaf::test::GrantAudit audit{database.url()};
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "grant: exactly as many IDs as asked for, one after the other from the start") {
  add(1000, 500);
  CHECK(given(store.grant(order, 1).range) == leaf::Range{500, 501});
  CHECK(given(store.grant(order, 7).range) == leaf::Range{501, 508});
  CHECK(given(store.grant(order, 5'000'000).range) == leaf::Range{508, 5'000'508});
  CHECK(audit.committed("order") == 3);
  CHECK(audit.burnt("order") == 0);
  const leaf::Tag tag = store.tag(order);
  CHECK(tag.next_id == 5'000'508);
  CHECK(tag.start == 500);
}

TEST_CASE_FIXTURE(Fixture, "grant: a segment has the tag's step, or the wish where that is more") {
  add(1000);
  const leaf::Grant grant = store.grant_segment(order);
  CHECK(given(grant.range) == leaf::Range{1, 1001});
  CHECK(grant.step == 1000);
  CHECK(grant.limit == leaf::max_id);
  CHECK(grant.incarnation == store.tag(order).incarnation);
  CHECK(given(store.grant_segment(order, 10).range) == leaf::Range{1001, 2001});
  CHECK(given(store.grant_segment(order, 4000).range) == leaf::Range{2001, 6001});
}

TEST_CASE("grant: below what this process was granted nothing is, and nothing is written") {
  leaf::test::TestDatabase database;  // without the audit, which goes by the table's own counter
  leaf::Store store = migrated(database.url());
  store.add_tag({.name = order, .step = 10});
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
  CHECK(store.grant(order, 110).range == leaf::Range{6, 116});
  // As a table of tags that is copied back.
  database.sql().run(
      "ALTER TABLE leaf_alloc DISABLE TRIGGER USER; UPDATE leaf_alloc SET max_id = 6;"
      " ALTER TABLE leaf_alloc ENABLE TRIGGER USER");
  for (int i = 0; i < 3; ++i) {
    CHECK(error_of([&] { store.grant(order, 1); }).code() == leaf::ErrorCode::refused);
    CHECK(error_of([&] { store.grant_segment(order); }).code() == leaf::ErrorCode::refused);
  }
  CHECK(store.tag(order).next_id == 6);
  store.update_tag(order, {.raise_to = 116});
  CHECK(store.grant(order, 1).range == leaf::Range{116, 117});
}

TEST_CASE("grant: what a trigger of somebody else lowers is not given out") {
  leaf::test::TestDatabase database;
  leaf::Store store = migrated(database.url());
  store.add_tag({.name = order, .step = 10});
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
  database.sql().run(
      "CREATE FUNCTION lower() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN NEW.max_id := NEW.last_grant + 1; RETURN NEW; END';"
      "CREATE TRIGGER zz_after_those_of_the_store BEFORE UPDATE ON leaf_alloc"
      " FOR EACH ROW EXECUTE FUNCTION lower()");
  CHECK(error_of([&] { store.grant(order, 1); }).code() == leaf::ErrorCode::refused);
  CHECK(error_of([&] { store.grant_segment(order); }).code() == leaf::ErrorCode::refused);
}

TEST_CASE_FIXTURE(Fixture, "grant: a step that changes meanwhile moves both ends") {
  add(10);
  leaf::test::SqlSession other(database.url());
  std::minstd_rand random(20260101);
  std::int64_t end = 1;
  for (int i = 0; i < 200; ++i) {
    const auto step = std::uniform_int_distribution<int>(1, 5000)(random);
    other.rows("UPDATE leaf_alloc SET step = $1 WHERE biz_tag = 'order'", {std::to_string(step)});
    const leaf::Range range = given(store.grant_segment(order).range);
    REQUIRE(range == leaf::Range{end, end + step});
    end = range.hi;
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "grant: one connection goes on when its prepared statements are dropped or outdated") {
  add(10);
  database.sql().run(R"(
    CREATE TABLE plan (drop_at bigint);
    INSERT INTO plan VALUES (0);
    CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
    BEGIN
      IF (SELECT drop_at FROM plan) <= OLD.max_id THEN EXECUTE 'DEALLOCATE ALL'; END IF;
      RETURN NULL;
    END
    $body$;
    CREATE TRIGGER forget AFTER UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION forget();
  )");
  SUBCASE("dropped") {
    database.sql().run("UPDATE plan SET drop_at = 51");
  }
  SUBCASE("outdated") {
    database.sql().run("DROP TRIGGER forget ON leaf_alloc");
  }
  const bool outdated =
      database.sql().value("SELECT count(*) FROM pg_trigger WHERE tgname = 'forget'") == "0";
  for (std::int64_t next = 1; next < 201; next += 10) {
    if (outdated && next == 101)
      database.sql().run(
          "DROP TRIGGER leaf_alloc_changed ON leaf_alloc; ALTER TABLE leaf_alloc ALTER COLUMN step TYPE "
          "bigint");
    REQUIRE(given(store.grant_segment(order).range) == leaf::Range{next, next + 10});
  }
}

TEST_CASE_FIXTURE(Fixture, "limit: an exact grant is all or nothing, a segment takes what is left") {
  add(1000, 1, 25);
  CHECK(given(store.grant(order, 10).range) == leaf::Range{1, 11});
  const leaf::Error more = error_of([&] { store.grant(order, 16); });
  CHECK(more.code() == leaf::ErrorCode::exhausted);
  CHECK(std::string(more.what()) == "tag 'order' has only 15 IDs left (limit 25)");
  CHECK(proposes(more, {.kind = leaf::Remedy::Kind::change_limit, .name = "order"}));
  CHECK(store.tag(order).next_id == 11);
  const leaf::Grant rest = store.grant_segment(order);
  CHECK(given(rest.range) == leaf::Range{11, 26});
  CHECK(rest.limit == 25);
  CHECK(error_of([&] { store.grant_segment(order); }).code() == leaf::ErrorCode::exhausted);
  CHECK(error_of([&] { store.grant(order, 1); }).code() == leaf::ErrorCode::exhausted);

  store.update_tag(order, {.step = {}, .limit = 26, .description = {}, .raise_to = {}});
  CHECK(given(store.grant(order, 1).range) == leaf::Range{26, 27});
}

TEST_CASE_FIXTURE(Fixture, "limit: up to the greatest ID there is, and not beyond") {
  add(1000, leaf::max_id - 1500);
  CHECK(given(store.grant_segment(order).range).lo == leaf::max_id - 1500);
  CHECK(error_of([&] { store.grant(order, 502); }).code() == leaf::ErrorCode::exhausted);
  CHECK(error_of([&] { store.grant(order, leaf::max_id); }).code() == leaf::ErrorCode::exhausted);
  CHECK(given(store.grant(order, 1).range).lo == leaf::max_id - 500);
  const leaf::Range last = given(store.grant_segment(order, leaf::max_step).range);
  CHECK(last == leaf::Range{leaf::max_id - 499, leaf::max_id + 1});
  CHECK(error_of([&] { store.grant(order, 1); }).code() == leaf::ErrorCode::exhausted);
  CHECK(error_of([&] { store.grant_segment(order, leaf::max_step); }).code() == leaf::ErrorCode::exhausted);
}

TEST_CASE_FIXTURE(Fixture, "limit: a table that somebody else moved past it gives no more") {
  add(1000, 1, 100);
  database.sql().run("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'order'");
  const leaf::Error error = error_of([&] { store.grant_segment(order); });
  CHECK(error.code() == leaf::ErrorCode::exhausted);
  CHECK(std::string(error.what()) == "tag 'order' is used up: its limit is 100");
  CHECK(error_of([&] { store.grant(order, 1); }).code() == leaf::ErrorCode::exhausted);
}

TEST_CASE_FIXTURE(Fixture, "tag: one that is not there, or not any more, is named with what to do") {
  const leaf::Error unknown = error_of([&] { store.grant(order, 1); });
  CHECK(unknown.code() == leaf::ErrorCode::not_found);
  CHECK(std::string(unknown.what()) == "tag 'order' does not exist");
  CHECK(unknown.hint() == "create it");
  CHECK(unknown.remedies() ==
        std::vector<leaf::Remedy>{{.kind = leaf::Remedy::Kind::add_tag, .name = "order", .at = 9}});

  add(10);
  store.remove_tag(order);
  CHECK(error_of([&] { store.grant(order, 1); }).code() == leaf::ErrorCode::not_found);
  CHECK(error_of([&] { store.grant_segment(order); }).code() == leaf::ErrorCode::not_found);
  CHECK(error_of([&] { store.tag(order); }).code() == leaf::ErrorCode::not_found);
  CHECK(error_of([&] { store.remove_tag(order); }).code() == leaf::ErrorCode::not_found);
  CHECK(error_of([&] { store.update_tag(order, {}); }).code() == leaf::ErrorCode::not_found);
  CHECK(store.tags().empty());
}

TEST_CASE_FIXTURE(Fixture, "tag: one that comes back is another incarnation and goes on where it ended") {
  const std::string first = add(1000).incarnation;
  given(store.grant(order, 41).range);
  store.remove_tag(order);

  const leaf::Error lower = error_of([&] { add(10, 41); });
  CHECK(lower.code() == leaf::ErrorCode::failed);
  CHECK(std::string(lower.what()).find("its IDs up to 41 are used up") != std::string::npos);
  CHECK(error_of([&] { add(10, {}, 41); }).code() == leaf::ErrorCode::failed);

  const leaf::Tag back = add(10);
  CHECK(back.incarnation != first);
  CHECK(back.next_id == 42);
  CHECK(given(store.grant_segment(order).range) == leaf::Range{42, 52});
  store.remove_tag(order);
  CHECK(add(10, 100).start == 100);
  CHECK(given(store.grant_segment(order).range) == leaf::Range{100, 110});
}

TEST_CASE_FIXTURE(Fixture,
                  "tag: added twice it is the same one, with other values an error that shows both") {
  const leaf::Tag tag = add(10, 5, 99);
  CHECK(add(10, 5, 99).incarnation == tag.incarnation);
  CHECK(add({}).incarnation == tag.incarnation);
  const leaf::Error step = error_of([&] { add(11, 5, 99); });
  CHECK(step.code() == leaf::ErrorCode::failed);
  CHECK(std::string(step.what()) == "tag 'order' exists with step 10, not 11");
  CHECK(std::string(error_of([&] { add(10, 5, 98); }).what()) == "tag 'order' exists with limit 99, not 98");
  store.grant(order, 3);
  CHECK(std::string(error_of([&] { add(10, 6); }).what()).find("are granted up to 7") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "tag: a change keeps what it does not name and never lowers") {
  add(10, 5, 99);
  const leaf::Tag raised =
      store.update_tag(order, {.step = 20, .limit = {}, .description = "it's", .raise_to = 50});
  CHECK(raised.step == 20);
  CHECK(raised.limit == 99);
  CHECK(raised.next_id == 50);
  CHECK(raised.description == "it's");
  CHECK(store.update_tag(order, {.step = {}, .limit = {}, .description = {}, .raise_to = 7}).next_id == 50);
  CHECK(error_of([&] {
          store.update_tag(order, {.step = {}, .limit = 48, .description = {}, .raise_to = {}});
        }).code() == leaf::ErrorCode::usage);
  CHECK(error_of([&] {
          store.update_tag(order, {.step = {}, .limit = {}, .description = {}, .raise_to = 101});
        }).code() == leaf::ErrorCode::usage);
  CHECK(!store
             .update_tag(order,
                         {.step = {}, .limit = {}, .remove_limit = true, .description = {}, .raise_to = 101})
             .limit);
  CHECK(store.grant(order, 1).range.lo == 101);
}

TEST_CASE("table: the server refuses to lower, rename, delete and truncate") {
  leaf::test::TestDatabase database;
  leaf::Store store = migrated(database.url());
  store.add_tag({.name = order, .step = 10, .start = 100, .limit = {}, .description = {}});
  const struct {
    std::string statement, complaint;
  } cases[] = {
      {"UPDATE leaf_alloc SET max_id = 99", "may not go back from 100 to 99"},
      {"UPDATE leaf_alloc SET biz_tag = 'other'", "may not be renamed"},
      {"DELETE FROM leaf_alloc", "may not be deleted"},
      {"DELETE FROM leaf_alloc WHERE biz_tag = 'order'", "may not be deleted"},
      {"TRUNCATE leaf_alloc", "may not be deleted"},
  };
  for (const auto& wrong : cases) {
    CAPTURE(wrong.statement);
    std::string message;
    try {
      database.sql().run(wrong.statement);
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    CHECK(message.find(wrong.complaint) != std::string::npos);
  }
  CHECK(store.grant(order, 1).range == leaf::Range{100, 101});
}

TEST_CASE_FIXTURE(Fixture, "tags: names that no call accepts are listed as they are") {
  const std::string hostile[] = {"it's", "a\"b", "a\nb", "naïve-標籤", "'; DROP TABLE leaf_alloc; --",
                                 "$1",   " "};
  for (const std::string& name : hostile) {
    database.sql().rows("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ($1, 1, 10)", {name});
    CHECK(error_of([&] { leaf::TagName refused(name); }).code() == leaf::ErrorCode::usage);
  }
  add(10);
  std::vector<std::string> names;
  for (const leaf::Tag& tag : store.tags()) names.push_back(tag.name);
  CHECK(names.size() == std::size(hostile) + 1);
  for (const std::string& name : hostile) CHECK(std::count(names.begin(), names.end(), name) == 1);
  CHECK(std::is_sorted(names.begin(), names.end()));
}

TEST_CASE_FIXTURE(Fixture, "description: quotes, wide characters and 256 of them are kept, 257 refused") {
  const std::string text = "it's $1 \"quoted\"; -- \\ \t 標籤 \U0001F343";
  CHECK(
      store.add_tag({.name = order, .step = {}, .start = {}, .limit = {}, .description = text}).description ==
      text);
  std::string wide;
  for (int i = 0; i < 256; ++i) wide += "標";
  const leaf::TagChange change{.step = {}, .limit = {}, .description = wide, .raise_to = {}};
  CHECK(store.update_tag(order, change).description == wide);
  const leaf::TagChange longer{.step = {}, .limit = {}, .description = wide + "x", .raise_to = {}};
  CHECK(error_of([&] { store.update_tag(order, longer); }).code() == leaf::ErrorCode::usage);
}

TEST_CASE_FIXTURE(Fixture, "tags: removing one is done although the server warned and it was tried again") {
  add(10);
  database.sql().run(
      "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'once'; RETURN NEW; "
      "END $$;"
      "CREATE TRIGGER warn BEFORE UPDATE ON leaf_alloc FOR EACH ROW WHEN (OLD.removed_at IS NULL AND"
      " NEW.removed_at IS NOT NULL) EXECUTE FUNCTION warn()");
  store.remove_tag(order);
  CHECK(store.tags().empty());
  CHECK(error_of([&] { store.remove_tag(order); }).code() == leaf::ErrorCode::not_found);
}

TEST_CASE_FIXTURE(Fixture, "tags: no change is told to be done where the server warns of each") {
  add(10);
  database.sql().run(
      "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'each'; RETURN NEW; "
      "END $$;"
      "CREATE TRIGGER warn BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION warn()");
  CHECK(error_of([&] { store.update_tag(order, {.step = 20}); }).code() == leaf::ErrorCode::unavailable);
  CHECK(error_of([&] { store.remove_tag(order); }).code() == leaf::ErrorCode::unavailable);
}

TEST_CASE_FIXTURE(Fixture,
                  "tags: names that one may have been meant for are about as long or begin with it") {
  for (const char* name : {"order", "orders", "order-of-last-year", "invoice-of-last-year", "x", "ordre"})
    store.add_tag({.name = leaf::TagName(name)});
  store.remove_tag(leaf::TagName("ordre"));
  auto names = store.similar_tags(order);
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"order", "order-of-last-year", "orders"});
  CHECK(store.similar_tags(order, 2).size() == 2);
}
