#include "bench/verify.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "bench/process.hpp"
#include "bench/shared_array.hpp"
#include "leaf/error.hpp"
#include "support/error_of.hpp"

using leafctl::IdCheck;
using leafctl::SeenIds;
using leafctl::Violations;

namespace {

struct Checked {
  SeenIds seen;
  Violations violations;
  std::atomic<std::int64_t> newest{IdCheck::none};

  explicit Checked(leaf::Range covered) {
    seen.cover(covered);
    seen.open();
  }

  std::string text() const {
    std::string text;
    for (const auto& violation : violations.first()) text += violation.text() + "\n";
    return text;
  }
};

}  // namespace

TEST_CASE("bench --verify: IDs that are drawn once and in order are good") {
  Checked checked({100, 100'000});
  IdCheck check(checked.seen, checked.newest);
  check.check(check.newest(), 100, checked.violations);
  check.check(check.newest(), std::vector<std::int64_t>{101, 105, 900}, checked.violations);
  check.check(check.newest(), leaf::Range{1'000, 100'000}, checked.violations);
  CHECK(check.newest() == 99'999);
  CHECK(checked.violations.count() == 0);
}

TEST_CASE("bench --verify: an ID that is drawn twice is named") {
  Checked checked({1, 1'000});
  IdCheck check(checked.seen, checked.newest);
  const std::int64_t both_began_at = check.newest();
  check.check(both_began_at, leaf::Range{1, 11}, checked.violations);
  check.check(both_began_at, 7, checked.violations);
  CHECK(checked.violations.count() == 1);
  CHECK(checked.text() == "ID 7 was drawn twice\n");
  check.check(both_began_at, std::vector<std::int64_t>{10, 11}, checked.violations);
  CHECK(checked.violations.count() == 2);
  CHECK(checked.text() == "ID 7 was drawn twice\nID 10 was drawn twice\n");
}

TEST_CASE("bench --verify: an ID that another process drew is named") {
  leafctl::SharedArray<Violations> found(1);
  Checked checked({0, 1'000'000'000'000});
  auto other = leafctl::ForkedProcess::start([&](const leafctl::ProcessLink& link) {
    SeenIds& seen = checked.seen;
    std::atomic<std::int64_t> newest{IdCheck::none};
    IdCheck check(seen, newest);
    check.check(check.newest(), std::vector<std::int64_t>{5, 999'999'999'999}, found[0]);
    link.signal();
  });
  REQUIRE(other.link().wait());
  CHECK(other.join());
  CHECK(found[0].count() == 0);
  IdCheck check(checked.seen, checked.newest);
  check.check(check.newest(), std::vector<std::int64_t>{4, 6, 999'999'999'999}, checked.violations);
  CHECK(checked.text() == "ID 999999999999 was drawn twice\n");
}

TEST_CASE("bench --verify: an ID that is not above one whose call had ended is named") {
  Checked checked({1, 1'000});
  IdCheck check(checked.seen, checked.newest);
  check.check(check.newest(), 50, checked.violations);
  check.check(check.newest(), 49, checked.violations);
  CHECK(checked.text() == "ID 49 came after ID 50\n");
  check.check(check.newest(), std::vector<std::int64_t>{60, 80, 70}, checked.violations);
  CHECK(checked.text() == "ID 49 came after ID 50\nID 70 came after ID 80\n");
}

TEST_CASE("bench --verify: calls that overlap may end in any order") {
  Checked checked({1, 1'000});
  IdCheck check(checked.seen, checked.newest);
  const std::int64_t first_began_at = check.newest();
  check.check(check.newest(), leaf::Range{20, 30}, checked.violations);
  check.check(first_began_at, leaf::Range{10, 20}, checked.violations);
  CHECK(checked.violations.count() == 0);
  CHECK(check.newest() == 29);
}

TEST_CASE("bench --verify: an ID from before the run is named, one past the room ends the run") {
  Checked checked({100, 200});
  IdCheck check(checked.seen, checked.newest);
  check.check(check.newest(), 99, checked.violations);
  CHECK(checked.text() == "ID 99 is below 100, where the run began\n");
  const auto error = leaf::test::error_of([&] { check.check(check.newest(), 200, checked.violations); });
  CHECK(error.code() == leaf::ErrorCode::failed);
  CHECK(std::string(error.what()) == "ID 200 is past 199, the last that '--verify' has room for");
}

TEST_CASE("bench --verify: the greatest IDs there are can be checked") {
  constexpr auto end = std::numeric_limits<std::int64_t>::max();
  Checked checked({end - 1'000, end});
  IdCheck check(checked.seen, checked.newest);
  check.check(check.newest(), leaf::Range{end - 1'000, end}, checked.violations);
  CHECK(checked.violations.count() == 0);
  check.check(-1, end - 1, checked.violations);
  CHECK(checked.text() == "ID 9223372036854775806 was drawn twice\n");
}

TEST_CASE("bench --verify: all violations are counted, the first eight named") {
  Checked checked({0, 1'000});
  IdCheck check(checked.seen, checked.newest);
  check.check(-1, leaf::Range{0, 20}, checked.violations);
  check.check(-1, leaf::Range{0, 20}, checked.violations);
  CHECK(checked.violations.count() == 20);
  CHECK(checked.violations.first().size() == 8);
  Violations sum;
  sum.merge(checked.violations);
  sum.merge(checked.violations);
  CHECK(sum.count() == 40);
  CHECK(sum.first().size() == 8);
}
