#include "snowflake/window_granter.hpp"

#include <doctest/doctest.h>

#include "leaf/error.hpp"
#include "support/error_of.hpp"

using namespace std::chrono_literals;

TEST_CASE("window granter: a lease that holds no unit as a whole is tried again") {
  const leaf::layout::Positions positions(leaf::Layout::parse("baidu@1704067200000"));  // units of a second
  const leaf::UnixTime epoch = positions.layout().epoch();
  const auto positions_of = [&](std::chrono::milliseconds begin, std::chrono::milliseconds end) {
    leaf::WorkerLease lease;
    lease.begin = epoch + begin;
    lease.end = epoch + end;
    return leaf::snowflake::positions_of(lease, positions);
  };
  const leaf::Error error = leaf::test::error_of([&] { positions_of(1500ms, 2900ms); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.hint() == "try again");
  CHECK(positions_of(1500ms, 3000ms) == leaf::Range{positions.first_of(2), positions.first_of(3)});
}
