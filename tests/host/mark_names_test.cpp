#include <doctest/doctest.h>

#include "leaf/host.hpp"
#include "store/grant_marks.hpp"
#include "support/temporary_folder.hpp"

TEST_CASE("mark names: a mark has the name of him who went furthest, wherever it is kept") {
  const leaf::test::TemporaryFolder home;
  const leaf::HostOptions host{.folder = home.path() / "run"};
  for (const auto& marks : {leaf::host_marks(host), leaf::marks_in_memory()}) {
    marks->raise("deployment", "worker 1", 90, 9);
    marks->raise("deployment", "worker 1", 50, 5);
    CHECK(marks->mark("deployment", "worker 1").holder == 9);
    marks->claim({.deployment = "deployment", .copy = "copy"}, "worker 1", {40, 60}, 6);
    CHECK(marks->mark("deployment", "worker 1").holder == 9);
    CHECK(marks->mark("deployment", "worker 1").end == 90);
    marks->lower("deployment", "worker 1", 70, 5);
    CHECK(marks->mark("deployment", "worker 1").end == 90);
    marks->lower("deployment", "worker 1", 70, 9);
    CHECK(marks->mark("deployment", "worker 1").end == 70);
    CHECK(marks->mark("deployment", "worker 1").holder == 9);
  }
}

TEST_CASE("mark names: what one store grants to two at once is lost to neither, wherever marks are kept") {
  const leaf::test::TemporaryFolder home;
  const leaf::HostOptions host{.folder = (home.path() / "run").string()};
  for (const auto& marks : {leaf::host_marks(host), leaf::marks_in_memory()}) {
    const leaf::StoreIdentity store{.deployment = "d", .copy = "c"}, copy{.deployment = "d", .copy = "c2"};
    CHECK(marks->claim(store, "tag order", {20, 30}));
    CHECK(marks->claim(store, "tag order", {10, 20}));
    CHECK_FALSE(marks->claim(copy, "tag order", {10, 20}));
    CHECK(marks->claim(copy, "tag order", {30, 40}));  // it goes on where the other one has ended
  }
}

TEST_CASE(
    "mark names: what its holder is granted anew by another copy is not lost, wherever marks are kept") {
  const leaf::test::TemporaryFolder home;
  const leaf::HostOptions host{.folder = (home.path() / "run").string()};
  for (const auto& marks : {leaf::host_marks(host), leaf::marks_in_memory()}) {
    // As a renewal whose reply was lost, repeated once the server was started anew.
    CHECK(marks->claim({.deployment = "d", .copy = "c"}, "worker 1", {0, 100}, 7));
    CHECK(marks->claim({.deployment = "d", .copy = "c2"}, "worker 1", {50, 150}, 7));
  }
}
