#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "c/c_store.hpp"
#include "support/refused_allocations.hpp"

using leaf::test::CStore;
using leaf::test::Failure;

namespace {

/// Makes a C call with its first allocation refused, then with its second, and so on; returns how often it
/// said that there is no memory.
int refuse_each(const std::function<leaf_status(leaf_error**)>& call) {
  int refused = 0;
  for (int nth = 1;; ++nth) {
    CAPTURE(nth);
    Failure failure;
    leaf::test::refuse_nth_allocation(nth);
    const leaf_status status = call(failure.place());
    const bool was_refused = leaf::test::was_nth_allocation_refused();
    leaf::test::refuse_nth_allocation(0);
    INFO(failure.text());
    CHECK(failure.status() == status);
    if (status != LEAF_OK) {
      CHECK(status == LEAF_UNAVAILABLE);
      CHECK(failure.is_retryable());
      if (failure.text() == "out of memory") {
        CHECK(failure.hint().starts_with("allow this process more memory"));
        ++refused;
      }
    }
    if (!was_refused) {
      CHECK(status == LEAF_OK);
      return refused;
    }
  }
}

}  // namespace

TEST_CASE("C: a lack of memory is told as what may pass") {
  CStore store;
  leaf::test::add_tag(store.admin, "order", 1);
  const leaf_options options = store.options_of_one_process();
  CHECK(refuse_each([&](leaf_error** error) {
          const CStore::Allocator allocator(leaf_allocator_open(&options, error));
          return allocator == nullptr ? leaf_error_status(*error) : LEAF_OK;
        }) > 0);
  std::set<std::int64_t> ids;
  const auto allocator = CStore::allocator(options);
  CHECK(refuse_each([&](leaf_error** error) {
          const CStore::Tag tag(leaf_allocator_tag(allocator.get(), "order", error));
          if (tag == nullptr) return leaf_error_status(*error);
          std::int64_t id = 0;
          const leaf_status status = leaf_tag_next(tag.get(), &id, error);
          leaf::test::refuse_nth_allocation(0);  // the next is the test's own
          if (status == LEAF_OK) CHECK(ids.insert(id).second);
          return status;
        }) > 0);
}
