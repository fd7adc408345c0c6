#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "c/c_store.hpp"
#include "support/wait_for.hpp"

using leaf::test::add_tag;
using leaf::test::CStore;
using leaf::test::wait_for;

TEST_CASE("C: an ID that is in memory is had without a wait, and none where there is none") {
  CStore store;
  store.admin.add_tag({.name = leaf::TagName("short"), .step = 10, .limit = 4});
  const auto allocator = store.allocator();
  const auto tag = store.tag(allocator, "short");
  std::int64_t id = -1;
  CHECK(leaf_tag_try_next(tag.get(), &id) == 0);
  CHECK(id == -1);
  REQUIRE(leaf_tag_next(tag.get(), &id, nullptr) == LEAF_OK);
  for (std::int64_t expected = 2; expected <= 4; ++expected) {
    REQUIRE(leaf_tag_try_next(tag.get(), &id) != 0);
    CHECK(id == expected);
  }
  CHECK(leaf_tag_try_next(tag.get(), &id) == 0);
  CHECK(id == 4);
  CHECK(leaf_tag_next(tag.get(), &id, nullptr) == LEAF_EXHAUSTED);
}

TEST_CASE("C: whoever only tries has the next segment fetched all the same") {
  CStore store;
  add_tag(store.admin, "order", 100);
  const auto allocator = store.allocator();
  const auto tag = store.tag(allocator, "order");
  std::int64_t id = 0;
  REQUIRE(leaf_tag_next(tag.get(), &id, nullptr) == LEAF_OK);
  for (std::int64_t expected = 2; expected <= 50; ++expected) {
    REQUIRE(leaf_tag_try_next(tag.get(), &id) != 0);
    CHECK(id == expected);
  }
  CHECK(wait_for([&] { return store.admin.tag(leaf::TagName("order")).next_id > 101; }));
}

TEST_CASE("C: a child of a fork is told to look closer first") {
  CStore store;
  add_tag(store.admin, "order", 100);
  const auto allocator = store.allocator();
  const auto tag = store.tag(allocator, "order");
  const auto generator = store.generator();
  std::int64_t id = 0;
  REQUIRE(leaf_tag_next(tag.get(), &id, nullptr) == LEAF_OK);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (leaf_tag_try_next(tag.get(), &id) != 0) _exit(1);
    if (leaf_generator_try_next(generator.get(), &id) != 0) _exit(2);
    if (leaf_tag_next(tag.get(), &id, nullptr) != LEAF_OK || id != 2) _exit(3);
    if (leaf_tag_try_next(tag.get(), &id) == 0 || id != 3) _exit(4);
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  REQUIRE(leaf_tag_next(tag.get(), &id, nullptr) == LEAF_OK);
  CHECK(id == 4);
}

TEST_CASE("C: snowflakes that are tried for increase with the others") {
  CStore store;
  const auto generator = store.generator();
  std::int64_t id = -1;
  CHECK(leaf_generator_try_next(generator.get(), &id) == 0);
  CHECK(id == -1);
  std::int64_t last = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (leaf_generator_try_next(generator.get(), &id) == 0)
      REQUIRE(leaf_generator_next(generator.get(), &id, nullptr) == LEAF_OK);
    REQUIRE(id > last);
    last = id;
  }
}
