#include "host/store_pool.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "store/grant_marks.hpp"

using namespace std::chrono_literals;
using leaf::host::StorePool;

namespace {

/// Of a server that nobody connects to.
struct PoolFixture {
  const leaf::StoreOptions options{.url = "postgresql://h/ids", .marks = leaf::marks_in_memory()};

  /// How many have a share of the marks, which each connection has until it is closed.
  long shares() const { return options.marks.use_count(); }
};

StorePool::Borrowed borrow(StorePool& pool) {
  return pool.borrow(1s, std::chrono::steady_clock::time_point::max());
}

}  // namespace

TEST_CASE("store pool: of the connections that come back at once it keeps as many as it may") {
  const PoolFixture fixture;
  StorePool pool(fixture.options, 2);
  const long none = fixture.shares();
  const auto shares_of = [&](int stores) {
    std::vector<StorePool::Borrowed> borrowed;
    for (int i = 0; i < stores; ++i) borrowed.push_back(borrow(pool));
    return fixture.shares() - none;
  };
  const long of_two = shares_of(2);
  CHECK(fixture.shares() - none == of_two);
  CHECK(shares_of(5) > of_two);
  CHECK(fixture.shares() - none == of_two);
}

TEST_CASE(
    "store pool: a child of a fork closes no connection of its parent, neither a lent one nor an idle one") {
  const PoolFixture fixture;
  const long none = fixture.shares();
  std::optional<StorePool> pool(std::in_place, fixture.options, 1);
  long of_what_goes = 0;
  std::optional<StorePool::Borrowed> lent;
  SUBCASE("lent") {
    lent.emplace(borrow(*pool));
  }
  SUBCASE("idle") {
    of_what_goes = fixture.shares() - none;  // that of the pool itself
    borrow(*pool);
  }
  const pid_t child = fork();
  if (child == 0) {
    if (lent) borrow(*pool);  // the child's own one takes the place of what would come back
    const long before = fixture.shares();
    if (lent) {
      lent.reset();
    } else {
      pool.reset();
    }
    _exit(before - fixture.shares() == of_what_goes ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
