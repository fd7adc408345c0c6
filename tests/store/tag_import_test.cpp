#include "leaf/tag_import.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "support/import_checks.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"

using leaf::ImportedTag;
using leaf::TagImport;
using Action = leaf::TagImport::Action;

namespace {

leaf::Tag existing() {
  leaf::Tag tag;
  tag.name = "order";
  tag.next_id = 500;
  tag.step = 10;
  tag.limit = 1000;
  tag.description = "orders";
  return tag;
}

ImportedTag imported(std::int64_t next_id) {
  return {.name = leaf::TagName("order"), .next_id = next_id, .place = "f:2:1"};
}

/// It granted 10 IDs of the tag 'order', whose row is gone.
leaf::Store store_that_lost_order(const leaf::test::SqliteStore& file) {
  leaf::Store store = file.open();
  store.add_tag({.name = leaf::TagName("order")});
  store.grant(leaf::TagName("order"), 10);
  leaf::test::SqliteSession other(file.path());
  REQUIRE(other.run("DROP TRIGGER leaf_alloc_never_gone; DELETE FROM leaf_alloc"));
  return store;
}

}  // namespace

TEST_CASE("tag import: a tag that the store lacks is added with what the file says") {
  ImportedTag tag = imported(52001);
  CHECK(TagImport(tag, {}).action() == Action::add);
  CHECK(TagImport(tag, {}).tag().step == leaf::default_step);
  tag.step = 2000;
  CHECK(TagImport(tag, {}).tag().step == 2000);
  CHECK(TagImport(tag, {}).tag().next_id == 52001);
}

TEST_CASE("tag import: a counter is raised, never lowered, and what the file does not say stays") {
  const TagImport raised(imported(501), existing());
  CHECK(raised.action() == Action::raise);
  CHECK(raised.tag().next_id == 501);
  CHECK(raised.tag().step == 10);
  CHECK(raised.tag().description == "orders");
  CHECK_FALSE(raised.passed());

  const TagImport same(imported(500), existing());
  CHECK(same.action() == Action::nothing);
  CHECK_FALSE(same.passed());

  const TagImport behind(imported(499), existing());
  CHECK(behind.action() == Action::nothing);
  CHECK(behind.tag().next_id == 500);
  CHECK(behind.passed() == 499);
}

TEST_CASE("tag import: step, limit and description follow the file, also where the counter stays") {
  ImportedTag tag = imported(1);
  tag.step = 20;
  tag.limit = 2000;
  tag.description = "sales";
  const TagImport changed(tag, existing());
  CHECK(changed.action() == Action::change);
  CHECK(changed.passed() == 1);
  CHECK(changed.tag().step == 20);
  CHECK(changed.tag().limit == 2000);
  CHECK(changed.tag().description == "sales");
}

TEST_CASE("tag import: a counter and a limit that do not fit are refused with the place") {
  CHECK(TagImport(imported(1001), existing()).tag().next_id == 1001);
  CHECK_THROWS_WITH_AS(TagImport(imported(1002), existing()),
                       "f:2:1: tag 'order' would have next ID 1002 and limit 1000", leaf::Error);
  ImportedTag low = imported(1);
  low.limit = 498;
  CHECK_THROWS_WITH_AS(TagImport(low, existing()), "f:2:1: tag 'order' would have next ID 500 and limit 498",
                       leaf::Error);
}

TEST_CASE("tag import: a removed tag is noted or raised, never lowered, and never removes one that lives") {
  ImportedTag tag = imported(700);
  tag.is_removed = true;
  tag.limit = 3;  // is over
  const TagImport noted(tag, {});
  CHECK(noted.action() == Action::note);
  CHECK(noted.tag().is_removed);
  CHECK(noted.tag().next_id == 700);
  CHECK_FALSE(noted.tag().limit);

  const TagImport raised(tag, {}, 600);
  CHECK(raised.action() == Action::raise);
  CHECK(raised.tag().is_removed);
  CHECK(raised.tag().next_id == 700);
  const TagImport behind(tag, {}, 800);
  CHECK(behind.action() == Action::nothing);
  CHECK(behind.tag().next_id == 800);
  CHECK(behind.passed() == 700);

  const TagImport live(tag, existing());
  CHECK(live.action() == Action::raise);
  CHECK_FALSE(live.tag().is_removed);
  CHECK(live.tag().next_id == 700);
  CHECK(live.tag().limit == 1000);
  tag.next_id = 1001;
  CHECK(TagImport(tag, existing()).tag().next_id == 1001);
  tag.next_id = 1002;
  CHECK_THROWS_WITH_AS(TagImport(tag, existing()),
                       "f:2:1: tag 'order' would have next ID 1002 and limit 1000", leaf::Error);
}

TEST_CASE("tag import: without a place an error begins with the tag") {
  ImportedTag tag = imported(1002);
  tag.place.clear();
  CHECK_THROWS_WITH_AS(TagImport(tag, existing()), "tag 'order' would have next ID 1002 and limit 1000",
                       leaf::Error);
}

TEST_CASE("tag import: done in a store it adds, raises and changes, and done again nothing") {
  const leaf::test::SqliteStore file;
  leaf::Store store = file.open();
  store.add_tag({.name = leaf::TagName("order"), .step = 10, .start = 500});
  store.add_tag({.name = leaf::TagName("ahead"), .start = 900});
  const std::vector<ImportedTag> tags{{.name = leaf::TagName("order"), .next_id = 700, .step = 20},
                                      {.name = leaf::TagName("ahead"), .next_id = 5},
                                      {.name = leaf::TagName("user"), .next_id = 3, .limit = 8}};
  const leaf::ImportPlan done = leaf::import_tags(tags, store);
  CHECK(done.lost.empty());
  CHECK(store.tag(leaf::TagName("order")).next_id == 700);
  CHECK(store.tag(leaf::TagName("order")).step == 20);
  CHECK(store.tag(leaf::TagName("ahead")).next_id == 900);
  CHECK(done.tags[1].passed() == 5);
  CHECK(store.tag(leaf::TagName("user")).limit == 8);
  for (const TagImport& import : leaf::import_tags(tags, store).tags)
    CHECK(import.action() == Action::nothing);
}

TEST_CASE("tag import: a removed tag goes on in another store where it ended") {
  const leaf::test::SqliteStore old_file;
  leaf::Store old_store = old_file.open();
  const leaf::TagName gone("gone");
  old_store.add_tag({.name = gone, .limit = 900, .description = "x"});
  old_store.grant(gone, 700);
  old_store.remove_tag(gone);
  old_store.add_tag({.name = leaf::TagName("live")});
  CHECK(old_store.tags().size() == 1);
  const std::vector<leaf::Tag> all = old_store.all_tags();
  REQUIRE(all.size() == 2);
  CHECK(all[0].is_removed);
  CHECK(all[0].next_id == 701);
  CHECK_FALSE(all[0].limit);
  CHECK_FALSE(all[1].is_removed);

  const leaf::test::SqliteStore file;
  leaf::Store store = file.open();
  const std::vector<ImportedTag> tags{{.name = gone, .next_id = 701, .is_removed = true}};
  CHECK(leaf::plan_import(tags, store).tags[0].action() == Action::note);
  CHECK(store.all_tags().empty());
  const leaf::ImportPlan done = leaf::import_tags(tags, store);
  CHECK(done.tags[0].action() == Action::note);
  CHECK(done.tags[0].tag().is_removed);
  CHECK(store.tags().empty());
  CHECK(store.end_of_removed(gone) == 701);
  CHECK(leaf::import_tags(tags, store).tags[0].action() == Action::nothing);
  const std::vector<ImportedTag> further{{.name = gone, .next_id = 800, .is_removed = true}};
  CHECK(leaf::import_tags(further, store).tags[0].action() == Action::raise);
  CHECK(leaf::import_tags(tags, store).tags[0].passed() == 701);
  CHECK(store.end_of_removed(gone) == 800);
  store.add_tag({.name = gone});
  CHECK(store.grant(gone, 1).range.lo == 800);
  CHECK(leaf::import_tags(tags, store).tags[0].action() == Action::nothing);
  CHECK(store.tag(gone).next_id == 801);
}

TEST_CASE(
    "tag import: a removed tag that comes back is another one, so that nobody draws what is left of it") {
  const leaf::test::SqliteStore file;
  leaf::Store store = file.open();
  const leaf::TagName gone("gone");
  const std::string first = store.add_tag({.name = gone}).incarnation;
  store.remove_tag(gone);
  const std::vector<leaf::ImportedTag> tags{{.name = gone, .next_id = 50}};
  leaf::import_tags(tags, store);
  CHECK(store.tag(gone).next_id == 50);
  CHECK(store.tag(gone).incarnation != first);
}

TEST_CASE("tag import: a removed tag that comes back is as the file says, not as it was") {
  const leaf::test::SqliteStore file;
  leaf::Store store = file.open();
  leaf::test::check_that_a_removed_tag_comes_back_as_told(store);
}

TEST_CASE("tag import: a removed tag of which this host drew comes back behind what it drew") {
  const leaf::test::SqliteStore file;
  leaf::Store store = file.open();
  const leaf::TagName gone("gone");
  store.add_tag({.name = gone});
  store.grant(gone, 100);
  store.remove_tag(gone);
  CHECK(leaf::import_tags({{.name = gone, .next_id = 50}}, store).lost.empty());
  CHECK(store.tag(gone).next_id == 101);
}

TEST_CASE("tag import: a removed tag of which the store lost more than the file knows is named") {
  const leaf::test::SqliteStore file;
  leaf::Store store = store_that_lost_order(file);
  const std::vector<ImportedTag> tags{{.name = leaf::TagName("order"), .next_id = 4, .is_removed = true}};
  CHECK(leaf::import_tags(tags, store).lost.size() == 1);
  CHECK(store.all_tags().empty());
}

TEST_CASE("tag import: a tag that the store lost is named, and so nothing needs to be changed") {
  const leaf::test::SqliteStore file;
  leaf::Store store = store_that_lost_order(file);
  const std::vector<ImportedTag> tags{{.name = leaf::TagName("order"), .next_id = 4},
                                      {.name = leaf::TagName("user"), .next_id = 4}};
  CHECK(leaf::plan_import(tags, store).lost.size() == 1);
  CHECK(leaf::import_tags(tags, store).lost.size() == 1);
  CHECK(store.tags().empty());
}

namespace {

std::vector<ImportedTag> many() {
  std::vector<ImportedTag> tags;
  for (int i = 0; i < 200; ++i)
    tags.push_back({.name = leaf::TagName("u" + std::to_string(i)), .next_id = 5});
  return tags;
}

}  // namespace

TEST_CASE("tag import: what one tag is refused for leaves all as they were") {
  const leaf::test::SqliteStore file;
  leaf::Store store = file.open();
  store.add_tag({.name = leaf::TagName("order"), .start = 5});
  store.add_tag({.name = leaf::TagName("user"), .start = 9000});
  std::vector<ImportedTag> tags = many();
  tags.push_back({.name = leaf::TagName("order"), .next_id = 700});
  leaf::test::SqliteSession other(file.path());
  SUBCASE("by its values") {
    tags.push_back({.name = leaf::TagName("user"), .next_id = 5, .limit = 8500, .place = "f:9:1"});
    CHECK_THROWS_WITH_AS(leaf::import_tags(tags, store),
                         "f:9:1: tag 'user' would have next ID 9000 and limit 8500", leaf::Error);
  }
  SUBCASE("by the database, in the midst of what is changed") {
    tags.push_back({.name = leaf::TagName("user"), .next_id = 9001});
    REQUIRE(
        other.run("CREATE TRIGGER stop BEFORE UPDATE ON leaf_alloc WHEN NEW.max_id = 9001"
                  " BEGIN SELECT RAISE(FAIL, 'stopped'); END"));
    CHECK_THROWS_AS(leaf::import_tags(tags, store), leaf::Error);
  }
  SUBCASE("by the database, in the midst of what is added") {
    REQUIRE(
        other.run("CREATE TRIGGER stop BEFORE INSERT ON leaf_alloc WHEN NEW.biz_tag = 'u150'"
                  " BEGIN SELECT RAISE(FAIL, 'stopped'); END"));
    CHECK_THROWS_AS(leaf::import_tags(tags, store), leaf::Error);
  }
  CHECK(store.tags().size() == 2);
  CHECK(store.tag(leaf::TagName("order")).next_id == 5);
}

TEST_CASE("tag import: it is one commit, whatever is changed and added") {
  const leaf::test::SqliteStore file;
  leaf::Store store = file.open();
  store.add_tag({.name = leaf::TagName("order"), .start = 5});
  std::vector<ImportedTag> tags = many();
  tags.push_back({.name = leaf::TagName("order"), .next_id = 700, .description = "a \"b\" \\ \n\x01 ä"});
  const auto commits = [&] {
    std::ifstream opened(file.path(), std::ios::binary);
    std::array<char, 28> header{};
    opened.read(header.data(), header.size());
    return static_cast<unsigned char>(header[27]);  // the lowest byte of the count
  };
  const int before = commits();
  leaf::import_tags(tags, store);
  CHECK(commits() == before + 1);
  CHECK(store.tags().size() == 201);
  CHECK(store.tag(leaf::TagName("order")).description == "a \"b\" \\ \n\x01 ä");
  CHECK(store.tag(leaf::TagName("u7")).incarnation != store.tag(leaf::TagName("u8")).incarnation);
}

TEST_CASE("tag import: the timeout is for all of it, and nothing is changed when it is over") {
  const leaf::test::SqliteStore file;
  leaf::Store store = file.open();
  // Takes far longer than the timeout, and yet ends.
  leaf::test::SqliteSession other(file.path());
  REQUIRE(
      other.run("CREATE TRIGGER slow BEFORE INSERT ON leaf_alloc WHEN NEW.biz_tag = 'u150' BEGIN"
                " SELECT count(*) FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                " SELECT i FROM n LIMIT 100000000); END"));
  store.set_timeout(std::chrono::milliseconds(1000));
  try {
    leaf::import_tags(many(), store);
    FAIL("it got done");
  } catch (const leaf::Error& error) {
    CHECK(error.code() == leaf::ErrorCode::unavailable);
    // Ended in its midst, not found to be late afterwards.
    CHECK(std::string(error.what()) == "store '" + file.path() + "' did not get done in time");
  }
  CHECK(store.tags().empty());
}
