#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <string_view>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/refused_allocations.hpp"
#include "support/temporary_folder.hpp"

namespace {

using leaf::test::refuse_nth_allocation;

enum Result { done, lacked_memory, failed_otherwise, fails_for_good };

/// In a process that has loaded no driver: uses a store while the `nth` allocation is refused, and then once
/// more.
Result use_first(int nth, const std::function<void()>& use) {
  Result result = done;
  refuse_nth_allocation(nth);
  try {
    use();
  } catch (const std::bad_alloc&) {
    result = lacked_memory;
  } catch (const leaf::Error& error) {
    result = error.code() == leaf::ErrorCode::unavailable ? lacked_memory : failed_otherwise;
  }
  const bool was_refused = leaf::test::was_nth_allocation_refused();
  refuse_nth_allocation(0);
  if (!was_refused || result == failed_otherwise) return result;
  try {
    use();
  } catch (const std::exception&) {
    return fails_for_good;
  }
  return lacked_memory;
}

/// Calls `use` in children, each with one allocation more that succeeds; returns how many they were.
int refuse_each_in_children(const std::function<void()>& use) {
  for (int nth = 1; nth < 10'000; ++nth) {
    CAPTURE(nth);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(use_first(nth, use));
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == done) return nth - 1;
    CHECK(WEXITSTATUS(status) == lacked_memory);
  }
  FAIL("it never comes to its end");
  return 0;
}

}  // namespace

TEST_CASE("first use: a driver that finds no memory is loaded by the next call (SQLite)") {
  const leaf::test::TemporaryFolder folder;
  const std::string url = "sqlite:" + (folder.path() / "ids.db").string();
  CHECK(refuse_each_in_children([&] {
          leaf::Store store({.url = url});
          store.migrate();
        }) > 100);
}

TEST_CASE("first use: a driver that finds no memory is loaded by the next call (PostgreSQL)") {
  const std::string url = "postgresql://127.0.0.1:1/ids";  // nobody listens there
  CHECK(refuse_each_in_children([&] {
          try {
            leaf::Store({.url = url, .timeout = {}}).health();
          } catch (const leaf::Error& error) {
            if (std::string_view(error.what()).find("refused") == std::string_view::npos) throw;
          }
        }) > 10);
}
