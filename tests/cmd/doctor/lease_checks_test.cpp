#include "doctor/lease_checks.hpp"

#include <doctest/doctest.h>

#include "support/sqlite_store.hpp"
#include "support/worker_request.hpp"

using leaf::HostBuffer;
using leaf::test::request_of;
using leafctl::CheckState;
using namespace std::chrono_literals;

namespace {

const leaf::UnixTime now{1'795'000'000'000ms};
const leaf::StoreIdentity asked{.deployment = "a", .copy = "1"};

leaf::Worker held(std::int64_t id, const std::string& owner, bool leased = true) {
  leaf::Worker worker;
  worker.id = id;
  worker.owner = owner;
  worker.leased = leased;
  return worker;
}

HostBuffer window(const std::string& name, std::int64_t worker) {
  HostBuffer buffer;
  buffer.kind = HostBuffer::Kind::worker;
  buffer.name = name;
  buffer.deployment = asked.deployment;
  buffer.copy = asked.copy;
  buffer.in_use = true;
  buffer.worker = worker;
  buffer.window_end = buffer.next_window_end = now + 1s;
  return buffer;
}

bool goes_on(const leaf::WorkerRequest& request, const HostBuffer& buffer,
             const std::vector<leaf::Worker>& workers = {}) {
  return leafctl::has_lease(request, {buffer}, asked, workers, now);
}

}  // namespace

TEST_CASE("lease checks: a window that this host has buffered needs no free worker while it is open") {
  HostBuffer buffer = window("web", 5);
  CHECK(goes_on(request_of("web"), buffer));
  CHECK_FALSE(goes_on(request_of("db"), buffer));
  CHECK_FALSE(goes_on(request_of("web", 5), buffer));  // its own is named after the number, too
  CHECK(goes_on(request_of("web", 5), window("web 5", 5)));
  CHECK_FALSE(goes_on(request_of("web"), window("web 5", 5)));
  buffer.next_window_end = now;
  CHECK_FALSE(goes_on(request_of("web"), buffer));
  // It is renewed.
  CHECK(goes_on(request_of("web"), buffer, {held(5, "web")}));
  CHECK_FALSE(goes_on(request_of("web"), buffer, {held(5, "db"), held(5, "web", false), held(6, "web")}));
}

TEST_CASE("lease checks: what this host has buffered of other stores, or uses no longer, does not count") {
  const auto spoiled = [](auto spoil) {
    HostBuffer buffer = window("web", 5);
    spoil(buffer);
    return goes_on(request_of("web"), buffer);
  };
  CHECK_FALSE(spoiled([](HostBuffer& buffer) { buffer.copy = "2"; }));
  CHECK_FALSE(spoiled([](HostBuffer& buffer) { buffer.is_former = true; }));
  CHECK_FALSE(spoiled([](HostBuffer& buffer) { buffer.damaged = true; }));
  CHECK_FALSE(spoiled([](HostBuffer& buffer) { buffer.in_use = false; }));
  CHECK_FALSE(spoiled([](HostBuffer& buffer) { buffer.kind = HostBuffer::Kind::tag; }));
}

TEST_CASE("lease checks: a worker that is pinned is not missed while its owner holds it") {
  const leaf::WorkerRequest pinned = request_of("web", 5);
  CHECK(leafctl::has_lease(pinned, {}, asked, {held(5, "web")}, now));
  CHECK_FALSE(leafctl::has_lease(pinned, {}, asked, {held(5, "web", false)}, now));
  CHECK_FALSE(leafctl::has_lease(pinned, {}, asked, {held(5, "db")}, now));
  CHECK_FALSE(leafctl::has_lease(pinned, {}, asked, {held(4, "web")}, now));
  CHECK_FALSE(leafctl::has_lease(request_of("web"), {}, asked, {held(5, "web")}, now));
}

TEST_CASE("lease checks: what keeps a host from its worker has failed, unless it has a lease") {
  const leaf::test::SqliteStore file;
  leaf::Store store(file.options());
  store.acquire_worker(request_of("db", 5));
  const leafctl::Checks checks = leafctl::lease_checks(store, request_of("web", 5), false);
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].name == "workers");
  CHECK(checks[0].state == CheckState::failed);
  CHECK(checks[0].detail == "worker 5 is held by another owner, or its window is not over");
  CHECK(checks[0].subject == "web");
  CHECK(leafctl::lease_checks(store, request_of("web", 5), true).empty());
  CHECK(leafctl::lease_checks(store, request_of("web", 6), false).empty());
  REQUIRE(leafctl::lease_checks(store, request_of("web", 1024), false).size() == 1);
  store.set_worker_range(leaf::WorkerRange{5, 5});
  REQUIRE(leafctl::lease_checks(store, request_of("web"), false).size() == 1);
  CHECK(leafctl::lease_checks(store, request_of("web"), true).empty());
}
