#include "doctor/host_checks.hpp"

#include <doctest/doctest.h>

using leafctl::CheckState;

TEST_CASE("host checks: a buffer whose fetches failed is a warning with its own hint") {
  leaf::HostBuffer well;
  well.name = "well";
  leaf::HostBuffer failing;
  failing.name = "order";
  failing.store = "dbname=ids";
  failing.failures = 3;
  failing.failure = "the store did not answer";
  failing.failure_hint = "try again";
  leaf::HostBuffer worker = failing;
  worker.kind = leaf::HostBuffer::Kind::worker;
  worker.failures = 1;
  worker.failure_hint.clear();
  const leafctl::Checks checks = leafctl::buffer_checks({well, failing, worker});
  REQUIRE(checks.size() == 2);
  CHECK(checks[0].state == CheckState::warning);
  CHECK(checks[0].detail ==
        "the last 3 fetches of tag 'order' from store 'dbname=ids' failed: the store did not answer");
  CHECK(checks[0].hint == "try again");
  CHECK(checks[1].detail ==
        "the last fetch of the worker of 'order' from store 'dbname=ids' failed: the store did not answer");
  CHECK(checks[1].hint == "ask that store what is wrong: 'leafctl doctor --store \"dbname=ids\"'");
}

TEST_CASE("host checks: no place for buffers is a warning, not wanting them is none") {
  CHECK(leafctl::look_at_host({}, true).folder.state == CheckState::warning);
  CHECK(leafctl::look_at_host({}, false).folder.state == CheckState::ok);
}
