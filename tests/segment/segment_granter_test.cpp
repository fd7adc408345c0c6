#include "segment/segment_granter.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

#include "leaf/error.hpp"
#include "store/grant_marks.hpp"
#include "support/error_of.hpp"

using namespace std::chrono_literals;
using leaf::range::DoubleBuffer;

TEST_CASE("segment granter: what is buffered counts as granted, but not by what damage makes of it") {
  const leaf::TagName order("order");
  const leaf::StoreOptions options{
      .url = "sqlite:/nowhere/leaf.db", .timeout = 0ms, .marks = leaf::marks_in_memory()};
  leaf::Store store(options);
  const leaf::segment::SegmentGranter granter(order, {}, options);
  const auto mark_after_a_grant_beside = [&](const DoubleBuffer& buffer) {
    // The store is not there, which is found out afterwards.
    CHECK(leaf::test::error_code([&] { granter.grant(store, {buffer, {"d1", ""}}); }));
    return options.marks->highest("d1", leaf::mark_of(order));
  };
  DoubleBuffer buffer;
  buffer.publish({1, 11}, 1);
  CHECK(buffer.take(1).range.lo == 1);
  std::array<unsigned char, sizeof buffer> bytes;
  std::memcpy(bytes.data(), static_cast<const void*>(&buffer), sizeof buffer);
  constexpr std::size_t begin_of_the_first_range = 64 + 32;
  bytes[begin_of_the_first_range] ^= 0x40;
  DoubleBuffer damaged;
  std::memcpy(static_cast<void*>(&damaged), bytes.data(), sizeof damaged);
  REQUIRE(damaged.published_end() > 11);
  CHECK(mark_after_a_grant_beside(damaged) == 0);
  CHECK(mark_after_a_grant_beside(buffer) == 11);
}
