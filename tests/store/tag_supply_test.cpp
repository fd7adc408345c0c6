#include <doctest/doctest.h>

#include "leaf/tag.hpp"

using leaf::max_id;
using leaf::past_max_id;
using leaf::supply_of;

TEST_CASE("supply: what was not granted is left, and what is buffered") {
  CHECK(supply_of(1, 1000, 1).left == 1000);
  CHECK(supply_of(1, 1000, 901).left == 100);
  CHECK(supply_of(1, 1000, 901, 50).left == 150);
  CHECK(supply_of(1, 1000, 1001, 50).left == 50);
  CHECK(supply_of(1, 1000, 1001).left == 0);
  CHECK(supply_of(1, 1000, 1002).left == 0);  // the limit was lowered by hand
  CHECK(supply_of(100, 199, 0).left == 100);  // nothing is known of the grants yet
}

TEST_CASE("supply: it is never more than all IDs there are") {
  CHECK(supply_of(1, max_id, 1).left == max_id);
  CHECK(supply_of(0, max_id, 0).left == max_id + 1);
  CHECK(supply_of(0, max_id, 0, 50).left == max_id + 1);
  CHECK(supply_of(1, max_id, 21, 55).left == max_id);  // the store has gone back
  CHECK(supply_of(1, 10, 1, ~std::uint64_t{0}).left == 10);
  CHECK(supply_of(1, max_id, past_max_id).left == 0);
  CHECK(supply_of(past_max_id, max_id, past_max_id).left == 0);
}

TEST_CASE("supply: a tenth or less is low, counted from where the tag began") {
  CHECK_FALSE(supply_of(1, 1000, 900).is_low());
  CHECK(supply_of(1, 1000, 901).is_low());
  CHECK(supply_of(1, 1000, 1001).is_low());
  CHECK_FALSE(supply_of(1, 1000, 901, 1).is_low());
  CHECK_FALSE(supply_of(9'000'000'000'000'000'000, max_id, 9'000'000'000'000'000'001).is_low());
  CHECK_FALSE(supply_of(2026000000, 2026000999, 2026000899).is_low());
  CHECK(supply_of(2026000000, 2026000999, 2026000900).is_low());
  CHECK(supply_of(1, 10, 10).is_low());
  CHECK_FALSE(supply_of(1, 9, 9).is_low());
  CHECK(supply_of(past_max_id, max_id, past_max_id).is_low());
}

TEST_CASE("supply: a tag that was taken over began at 1") {
  leaf::Tag tag;
  tag.next_id = 901;
  tag.limit = 1000;
  CHECK(supply_of(tag).is_low());
  CHECK(supply_of(tag, 1).left == 101);
  tag.start = 801;
  CHECK_FALSE(supply_of(tag).is_low());
  tag.limit.reset();
  CHECK(supply_of(tag).left == max_id - 900);
}
