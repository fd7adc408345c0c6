#include "text/grouped.hpp"

#include <doctest/doctest.h>

using leafctl::grouped;

TEST_CASE("grouped: large numbers are parted at each thousand") {
  CHECK(grouped(std::uint64_t{0}) == "0");
  CHECK(grouped(std::uint64_t{999}) == "999");
  CHECK(grouped(std::uint64_t{4'096'000}) == "4,096,000");
  CHECK(grouped(std::uint64_t{18'446'744'073'709'551'615u}) == "18,446,744,073,709,551,615");
  CHECK(grouped(std::int64_t{-999}) == "-999");
  CHECK(grouped(std::int64_t{-1'000}) == "-1,000");
  CHECK(grouped(std::int64_t{100'000}) == "100,000");
}

TEST_CASE("an amount is whole where it has three digits") {
  CHECK(leafctl::rough_number(0.012345) == "0.0123");
  CHECK(leafctl::rough_number(99.94) == "99.9");
  CHECK(leafctl::rough_number(99.96) == "100");
  CHECK(leafctl::rough_number(1489.6) == "1,490");
}
