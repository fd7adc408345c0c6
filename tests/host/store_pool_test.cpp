#include "host/store_pool.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "store/grant_marks.hpp"

using namespace std::chrono_literals;
using leaf::host::StorePool;

TEST_CASE("store pool: of the connections that come back at once it keeps as many as it may") {
  const leaf::StoreOptions options{.url = "postgresql://h/ids", .marks = leaf::marks_in_memory()};
  const long for_itself = options.marks.use_count();
  StorePool pool(options, 2);
  const auto shares_of = [&](int stores) {
    std::vector<StorePool::Borrowed> borrowed;
    for (int i = 0; i < stores; ++i)
      borrowed.push_back(pool.borrow(1s, std::chrono::steady_clock::time_point::max()));
    return options.marks.use_count() - for_itself;
  };
  const long of_two = shares_of(2);
  CHECK(options.marks.use_count() - for_itself == of_two);
  CHECK(shares_of(5) > of_two);
  CHECK(options.marks.use_count() - for_itself == of_two);
}
