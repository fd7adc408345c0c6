#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "c/c_store.hpp"

using leaf::test::CStore;
using leaf::test::Failure;

namespace {

struct CTags : CStore {
  std::unique_ptr<leaf_store, Close> store{open()};

  leaf_store* open() const {
    const leaf_options said = options();
    leaf_store* const result = leaf_store_open(&said, nullptr);
    REQUIRE(result != nullptr);
    return result;
  }
  static leaf_new_tag named(const char* name) {
    leaf_new_tag tag{};
    tag.size = sizeof tag;
    tag.name = name;
    return tag;
  }
  leaf_status add(const leaf_new_tag& tag, leaf_error** error = nullptr) const {
    return leaf_store_add_tag(store.get(), &tag, error);
  }
};

}  // namespace

TEST_CASE("C: a tag that is added is stored as said, with Leaf's defaults for the rest") {
  CTags c;
  leaf_new_tag full = CTags::named("order");
  full.description = "of the shop";
  full.step = 50;
  full.start = 7;
  full.limit = 1000;
  REQUIRE(c.add(full) == LEAF_OK);
  REQUIRE(c.add(CTags::named("bare")) == LEAF_OK);

  const leaf::Tag order = c.admin.tag(leaf::TagName("order"));
  CHECK(order.description == "of the shop");
  CHECK(order.step == 50);
  CHECK(order.next_id == 7);
  CHECK(order.limit == 1000);
  const leaf::Tag bare = c.admin.tag(leaf::TagName("bare"));
  CHECK(bare.step == leaf::default_step);
  CHECK(bare.next_id == 1);
  CHECK_FALSE(bare.limit);
}

TEST_CASE("C: tags are shown as they are stored") {
  CTags c;
  c.admin.add_tag({.name = leaf::TagName("b"), .step = 20, .start = 5, .limit = 99, .description = "second"});
  c.admin.add_tag({.name = leaf::TagName("a")});
  c.admin.grant(leaf::TagName("b"), 10);

  const CStore::TagList all(leaf_store_tags(c.store.get(), nullptr));
  REQUIRE(all != nullptr);
  REQUIRE(leaf_tag_list_size(all.get()) == 2);
  const leaf_tag_info* const a = leaf_tag_list_at(all.get(), 0);
  CHECK(std::string(a->name) == "a");
  CHECK(std::string(a->description).empty());
  CHECK(a->limit == LEAF_MAX_ID);
  CHECK(a->granted_ms == INT64_MIN);

  const CStore::TagList one(leaf_store_tag(c.store.get(), "b", nullptr));
  REQUIRE(one != nullptr);
  REQUIRE(leaf_tag_list_size(one.get()) == 1);
  const leaf_tag_info* const b = leaf_tag_list_at(one.get(), 0);
  const leaf::Tag stored = c.admin.tag(leaf::TagName("b"));
  CHECK(std::string(b->name) == "b");
  CHECK(std::string(b->description) == "second");
  CHECK(b->next_id == 15);
  CHECK(b->step == 20);
  CHECK(b->start == 5);
  CHECK(b->limit == 99);
  CHECK(b->updated_ms == stored.updated_at.time_since_epoch().count());
  REQUIRE(stored.granted_at);
  CHECK(b->granted_ms == stored.granted_at->time_since_epoch().count());
}

TEST_CASE("C: a tag that cannot be added is refused with what is wrong") {
  CTags c;
  Failure failure;
  REQUIRE(c.add(CTags::named("order")) == LEAF_OK);
  CHECK(c.add(CTags::named("order"), failure.place()) == LEAF_OK);
  leaf_new_tag other = CTags::named("order");
  other.step = 77;
  CHECK(c.add(other, failure.place()) == LEAF_FAILED);
  CHECK(failure.text().find("order") != std::string::npos);
  CHECK(c.add(CTags::named("no tag"), failure.place()) == LEAF_USAGE);
  CHECK(c.add(CTags::named(nullptr), failure.place()) == LEAF_USAGE);
  CHECK(failure.text() == "leaf_new_tag has no name");
  for (const std::int64_t nonsense : {std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    leaf_new_tag tag = CTags::named("bad");
    tag.step = nonsense;
    CHECK(c.add(tag, failure.place()) == LEAF_USAGE);
    tag = CTags::named("bad");
    tag.limit = nonsense;
    CHECK(c.add(tag, failure.place()) == LEAF_USAGE);
  }
  for (const std::int64_t nonsense : {std::int64_t{-1}, INT64_MIN}) {
    leaf_new_tag tag = CTags::named("bad");
    tag.start = nonsense;
    CHECK(c.add(tag, failure.place()) == LEAF_USAGE);
  }
  leaf_new_tag used_up = CTags::named("used_up");
  used_up.start = LEAF_MAX_ID + 1;
  CHECK(c.add(used_up, failure.place()) == LEAF_OK);
  leaf_new_tag sizeless = CTags::named("bad");
  sizeless.size = 0;
  CHECK(c.add(sizeless, failure.place()) == LEAF_USAGE);
  CHECK(failure.hint() == "set its member 'size' to sizeof(leaf_new_tag)");
  sizeless.size = sizeof sizeless;
  CHECK(c.add(sizeless, failure.place()) == LEAF_OK);

  leaf_new_tag earlier = CTags::named("earlier");
  earlier.size = offsetof(leaf_new_tag, limit);
  earlier.limit = 3;
  REQUIRE(c.add(earlier) == LEAF_OK);
  CHECK_FALSE(c.admin.tag(leaf::TagName("earlier")).limit);

  CHECK(leaf_store_tag(c.store.get(), "ordr", failure.place()) == nullptr);
  CHECK(failure.status() == LEAF_NOT_FOUND);
  CHECK(leaf_store_tag(c.store.get(), "no tag", failure.place()) == nullptr);
  CHECK(failure.status() == LEAF_USAGE);
}

TEST_CASE("C: a store that is missing is named") {
  CTags c;
  leaf_options options = c.options();
  const std::string url = "sqlite:" + (c.home.path() / "missing.db").string();
  options.store = url.c_str();
  const std::unique_ptr<leaf_store, CStore::Close> missing(leaf_store_open(&options, nullptr));
  REQUIRE(missing != nullptr);
  Failure failure;
  CHECK(leaf_store_tags(missing.get(), failure.place()) == nullptr);
  CHECK(failure.status() == LEAF_USAGE);
  CHECK(failure.text().find("missing.db") != std::string::npos);
}

TEST_CASE("C: threads share one store, and children of a fork go on with it") {
  CTags c;
  std::vector<std::thread> threads;
  std::set<std::string> expected;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 10; ++j) expected.insert("t" + std::to_string(i) + "-" + std::to_string(j));
    threads.emplace_back([&c, i] {
      for (int j = 0; j < 10; ++j) {
        const std::string name = "t" + std::to_string(i) + "-" + std::to_string(j);
        if (c.add(CTags::named(name.c_str())) != LEAF_OK) return;  // it is missed below
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const std::string name = "child-" + std::to_string(i);
    expected.insert(name);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(c.add(CTags::named(name.c_str())));
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  for (std::thread& thread : threads) thread.join();
  const CStore::TagList all(leaf_store_tags(c.store.get(), nullptr));
  REQUIRE(all != nullptr);
  std::set<std::string> found;
  for (size_t i = 0; i < leaf_tag_list_size(all.get()); ++i)
    found.insert(leaf_tag_list_at(all.get(), i)->name);
  CHECK(found == expected);
}
