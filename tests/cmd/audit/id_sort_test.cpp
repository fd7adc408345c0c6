#include "audit/id_sort.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace {

void check_sorting(std::vector<std::int64_t> ids) {
  std::vector<std::int64_t> wanted = ids;
  std::ranges::sort(wanted);
  std::vector<std::int64_t> scratch(ids.size());
  leafctl::sort_ids(ids, scratch);
  CHECK(ids == wanted);
}

}  // namespace

TEST_CASE("audit: IDs are sorted whatever digits they have in common") {
  std::mt19937_64 random(1);
  for (const std::size_t count : {0U, 1U, 2U, 1023U, 1024U, 5000U}) {
    for (const int bits : {1, 8, 17, 40, 63}) {
      std::vector<std::int64_t> ids(count);
      for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() >> (64 - bits));
      check_sorting(ids);
      for (std::int64_t& id : ids) id |= std::int64_t{5} << 57;
      check_sorting(ids);
    }
  }
}
