#pragma once

#include <doctest/doctest.h>

#include <new>
#include <string>

#include "leaf/error.hpp"
#include "support/refused_allocations.hpp"

namespace leaf::test {

/// Calls `work()` with its first allocation of C++ refused, then with its second, and so on until it has no
/// more; after each of them `go_on()`, which is to succeed. Returns how many there were.
template <class Work, class GoOn>
int refuse_each_allocation(Work work, GoOn go_on) {
  for (int nth = 1; nth < 10'000; ++nth) {
    CAPTURE(nth);
    refuse_nth_allocation(nth);
    try {
      work();
    } catch (const std::bad_alloc&) {
    } catch (const Error& error) {
      refuse_nth_allocation(0);
      INFO(std::string(error.what()));
      CHECK(error.code() == ErrorCode::unavailable);
    }
    const bool was_refused = was_nth_allocation_refused();
    refuse_nth_allocation(0);
    go_on();
    if (!was_refused) return nth - 1;
  }
  FAIL("it never comes to its end");
  return 0;
}

}  // namespace leaf::test
