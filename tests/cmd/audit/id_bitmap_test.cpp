#include "audit/id_bitmap.hpp"

#include <doctest/doctest.h>

#include <vector>

using leafctl::IdBitmap;

TEST_CASE("audit: a bitmap gives back each ID once, in ascending order") {
  IdBitmap bitmap(1000, 64);
  CHECK_FALSE(bitmap.covers(999));
  CHECK_FALSE(bitmap.covers(0));
  CHECK(bitmap.covers(1000));
  CHECK(bitmap.covers(1511));
  CHECK_FALSE(bitmap.covers(1512));
  for (const std::int64_t id : {1511, 1000, 1063, 1064, 1300}) CHECK(bitmap.insert(id));
  CHECK_FALSE(bitmap.insert(1300));
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; bitmap.next(id);) ids.push_back(id);
  CHECK(ids == std::vector<std::int64_t>{1000, 1063, 1064, 1300, 1511});
}
