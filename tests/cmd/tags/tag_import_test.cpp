#include "tags/tag_import.hpp"

#include <doctest/doctest.h>

#include "leaf/error.hpp"

using leafctl::FiledTag;
using leafctl::TagImport;
using Action = leafctl::TagImport::Action;

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

FiledTag filed(std::int64_t next_id) {
  return {.name = leaf::TagName("order"), .next_id = next_id, .place = {"f", 2, 1}};
}

}  // namespace

TEST_CASE("tag import: a tag that the store lacks is added with what the file says") {
  FiledTag tag = filed(52001);
  CHECK(TagImport(tag, {}).action() == Action::add);
  CHECK(TagImport(tag, {}).tag().step == leaf::default_step);
  tag.step = 2000;
  CHECK(TagImport(tag, {}).tag().step == 2000);
  CHECK(TagImport(tag, {}).tag().next_id == 52001);
}

TEST_CASE("tag import: a counter is raised, never lowered, and what the file does not say stays") {
  const TagImport raised(filed(501), existing());
  CHECK(raised.action() == Action::raise);
  CHECK(raised.tag().next_id == 501);
  CHECK(raised.tag().step == 10);
  CHECK(raised.tag().description == "orders");
  CHECK_FALSE(raised.passed());

  const TagImport same(filed(500), existing());
  CHECK(same.action() == Action::nothing);
  CHECK_FALSE(same.passed());

  const TagImport behind(filed(499), existing());
  CHECK(behind.action() == Action::nothing);
  CHECK(behind.tag().next_id == 500);
  CHECK(behind.passed() == 499);
}

TEST_CASE("tag import: step, limit and description follow the file, also where the counter stays") {
  FiledTag tag = filed(1);
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
  CHECK(TagImport(filed(1001), existing()).tag().next_id == 1001);
  CHECK_THROWS_WITH_AS(TagImport(filed(1002), existing()),
                       "f:2:1: tag 'order' would have next ID 1002 and limit 1000", leaf::Error);
  FiledTag low = filed(1);
  low.limit = 498;
  CHECK_THROWS_WITH_AS(TagImport(low, existing()), "f:2:1: tag 'order' would have next ID 500 and limit 498",
                       leaf::Error);
}
