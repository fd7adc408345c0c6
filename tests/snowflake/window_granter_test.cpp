#include "snowflake/window_granter.hpp"

#include <doctest/doctest.h>

#include "leaf/error.hpp"
#include "support/error_of.hpp"

using namespace std::chrono_literals;

namespace {

/// Of a lease from `begin` to `end`, both counted from the epoch.
leaf::Range positions_between(std::chrono::milliseconds begin, std::chrono::milliseconds end,
                              const leaf::layout::Positions& positions) {
  const leaf::UnixTime epoch = positions.layout().epoch();
  leaf::WorkerLease lease;
  lease.begin = epoch + begin;
  lease.end = epoch + end;
  return leaf::snowflake::positions_of(lease, positions);
}

}  // namespace

TEST_CASE("window granter: a lease that holds no unit as a whole is tried again") {
  const leaf::layout::Positions positions(leaf::Layout::parse("baidu@1704067200000"));  // units of a second
  const auto positions_of = [&](std::chrono::milliseconds begin, std::chrono::milliseconds end) {
    return positions_between(begin, end, positions);
  };
  const leaf::Error error = leaf::test::error_of([&] { positions_of(1500ms, 2900ms); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.hint() == "try again");
  CHECK(positions_of(1500ms, 3000ms) == leaf::Range{positions.first_of(2), positions.first_of(3)});
}

TEST_CASE("window granter: of a lease that is longer than a buffer can hold the first part is used") {
  const leaf::layout::Positions positions(leaf::Layout::parse("baidu@1704067200000"));
  const auto most = leaf::range::DoubleBuffer::max_size;
  const leaf::Range used = positions_between(10s, 10s + 24h * 365, positions);
  CHECK(used.lo == positions.first_of(10));
  CHECK(used.size() <= most);
  CHECK(used.size() > most - static_cast<std::uint64_t>(positions.first_of(1) - positions.first_of(0)));
}

TEST_CASE("window granter: windows serve up to the end of the next one") {
  const leaf::Layout layout = leaf::Layout::parse("leaf");
  const leaf::layout::Positions positions(layout);
  const leaf::snowflake::WindowGranter granter({.owner = "a"});
  leaf::range::DoubleBuffer buffer;
  const auto serves_at = [&](std::chrono::milliseconds time) {
    return granter.still_serves(buffer, layout.text(), layout.epoch() + time);
  };
  CHECK_FALSE(serves_at(10s));
  buffer.publish(positions_between(10s, 20s, positions), 1, 0);
  buffer.advance(buffer.view());
  CHECK_FALSE(serves_at(11s));
  buffer.publish(positions_between(20s, 30s, positions), 1, 0);
  CHECK(serves_at(11s));
  CHECK(serves_at(29'999ms));
  CHECK_FALSE(serves_at(30s));
}

TEST_CASE("window granter: in a window of a single unit its first ID has the next window fetched") {
  const leaf::layout::Positions positions(leaf::Layout::parse("baidu@1704067200000"));
  const auto mark_between = [&](std::chrono::milliseconds begin, std::chrono::milliseconds end) {
    return leaf::snowflake::mark_of(positions_between(begin, end, positions), positions.layout());
  };
  CHECK(mark_between(1500ms, 3500ms) == 1);
  CHECK(mark_between(1500ms, 4500ms) == positions.first_of(1));
  CHECK(mark_between(1500ms, 12s) == 5 * positions.first_of(1));
  const leaf::layout::Positions alone(leaf::Layout::parse("time:53,worker:10/1ms"));
  CHECK(leaf::snowflake::mark_of({1, 2}, alone.layout()) == 1);
}
