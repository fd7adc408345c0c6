#include "segment/segment_granter.hpp"

#include <doctest/doctest.h>

#include "support/manual_clock.hpp"

using leaf::TagName;
using leaf::segment::SegmentGranter;

TEST_CASE("segment granter: a grant is surpassed once this host knows of higher IDs of that tag and store") {
  leaf::test::ManualClock clock;
  leaf::StoreOptions store{.url = "postgresql://h/ids", .clock = &clock};
  const leaf::range::Granted granted{.range = {10, 20}, .store = {"d1", ""}};
  const TagName order("order");
  CHECK_FALSE(SegmentGranter(order, {}, store).is_surpassed(granted));  // keeps no marks

  store.marks = leaf::marks_in_memory();
  const SegmentGranter granter(order, {}, store);
  CHECK_FALSE(granter.is_surpassed(granted));
  store.marks->raise("d1", leaf::mark_of(order), 20);  // by this grant itself
  store.marks->raise("d1", leaf::mark_of(TagName("invoice")), 100);
  store.marks->raise("d2", leaf::mark_of(order), 100);
  CHECK_FALSE(granter.is_surpassed(granted));
  store.marks->raise("d1", leaf::mark_of(order), 21);
  CHECK(granter.is_surpassed(granted));
}
