#include "audit/exhaustion.hpp"

#include <doctest/doctest.h>

#include <chrono>

using leafctl::dense_exhaustion;
using leafctl::FindingState;
using leafctl::layout_exhaustion;

namespace {

using std::chrono::days;

const leaf::UnixTime now = std::chrono::sys_days(std::chrono::year(2026) / 11 / 22);

}  // namespace

TEST_CASE("audit: the end of a layout's time and of JavaScript's numbers are those of its bits") {
  const auto layout = leaf::Layout::parse("leaf");
  auto findings = layout_exhaustion(layout, std::int64_t{1} << 60, now);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].detail == "the time of layout 'leaf' ends on 2080-07-10");
  CHECK(findings[0].state == FindingState::ok);
  CHECK(findings[1].detail == "IDs have passed 2^53, since 2010-11-28: JavaScript needs them as strings");
  const auto first_past = layout.first_id(layout.time_at((std::int64_t{1} << 53) >> 22));
  CHECK(first_past == std::int64_t{1} << 53);
  findings = layout_exhaustion(leaf::Layout::parse("time:31,worker:10,sequence:12/1s@1577836800000"), 5, now);
  REQUIRE(findings.size() == 1);
  findings = layout_exhaustion(leaf::Layout::parse("time:32,worker:10,sequence:12/1s@1577836800000"), 5, now);
  REQUIRE(findings.size() == 2);
  CHECK(findings[1].detail == "IDs pass 2^53 on 2088-01-19: JavaScript needs them as strings then");
  // 28 bits of seconds from 2016-05-20 on.
  findings = layout_exhaustion(leaf::Layout::parse("baidu"), 5, now);
  CHECK(findings[0].detail == "the time of layout 'baidu' ends on 2024-11-20");
  CHECK(findings[0].state == FindingState::failed);
}

TEST_CASE("audit: dense IDs run out at the pace that they have had") {
  auto findings = dense_exhaustion(1, 1000, std::nullopt, now);
  REQUIRE(findings.size() == 3);
  CHECK(findings[0].subject == "int");
  CHECK(findings[0].detail == "less than 0.01% of int used, 2,147,482,647 left");
  findings = dense_exhaustion(0, 2'000'000'000, now - days(1000), now);
  CHECK(findings[0].detail ==
        "93.1% of int used, 147,483,647 left; at 2,000,000 a day they last until 2027-02-03");
  CHECK(findings[0].state == FindingState::warning);
  CHECK(findings[1].subject == "javascript");
  CHECK(findings[1].state == FindingState::ok);
  findings = dense_exhaustion(0, std::int64_t{1} << 31, now - days(1000), now);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].subject == "javascript");
  CHECK(findings[1].detail.ends_with(" they last past the year 9999"));
}
