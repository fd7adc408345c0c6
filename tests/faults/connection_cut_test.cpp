#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/grant_audit.hpp"
#include "support/tcp_proxy.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"

using leaf::test::error_of;
using leaf::test::patience;
using leaf::test::Way;

namespace {

const leaf::TagName order("order");
constexpr std::int64_t count = 3;

/// A store that is reached through a proxy. TLS is off, so that a cut can leave half a message.
struct Proxied {
  Proxied() {
    store.migrate();
    // All IDs have the same number of digits, so that all replies have the same size.
    store.add_tag({.name = order, .step = 10, .start = 1'000'000, .limit = {}, .description = {}});
  }
  std::string url() const {
    return database.url(fmt::format("host=127.0.0.1 port={} sslmode=disable", proxy.port()));
  }
  void draw() { audit().given("order", store.grant(order, count).range); }
  leaf::test::GrantAudit& audit() {
    if (!audit_) audit_.emplace(database.url());
    return *audit_;
  }
  /// How many bytes one grant sends that way.
  std::uint64_t size_of_grant(Way way) {
    const std::uint64_t before = proxy.passed(way);
    draw();
    return proxy.passed(way) - before;
  }

  leaf::test::TestDatabase database;
  leaf::test::TcpProxy proxy{std::getenv("PGHOST"), std::getenv("PGPORT")};
  leaf::Store store{{.url = url()}};
  std::optional<leaf::test::GrantAudit> audit_;
};

/// After how many of so many bytes to cut: each one in the soak; otherwise the first ones, every forty-first,
/// and all of the last messages, where it is decided.
std::vector<std::uint64_t> cuts_within(std::uint64_t size) {
  const char* all = std::getenv("TEST_EACH_BYTE");
  std::vector<std::uint64_t> cuts;
  for (std::uint64_t bytes = 0; bytes < size; ++bytes) {
    if (all != nullptr || bytes < 8 || bytes % 41 == 0 || bytes + 32 >= size) cuts.push_back(bytes);
  }
  return cuts;
}

}  // namespace

TEST_CASE_FIXTURE(Proxied, "cut: anywhere in the reply the range is burnt and the next one comes") {
  int before = 0;  // grants on the same connection
  SUBCASE("of a connection's first grant") {}
  SUBCASE("of a later one, which is prepared") {
    before = 4;
  }
  audit();
  for (int i = 0; i < before; ++i) draw();
  const std::uint64_t size = size_of_grant(Way::reply);
  REQUIRE(size > 50);
  for (const std::uint64_t bytes : cuts_within(size)) {
    CAPTURE(bytes);
    for (int i = 0; i < before; ++i) draw();
    proxy.cut_after(Way::reply, bytes);
    REQUIRE_NOTHROW(draw());
    REQUIRE(!proxy.cut_pending());
  }
  // Every one of the cut replies was of a grant that the server had committed, and none of them was believed.
  const auto cuts = static_cast<std::int64_t>(cuts_within(size).size());
  CHECK(audit().committed("order") == before + 1 + cuts * (before + 2));
  CHECK(audit().burnt("order") == cuts * count);
}

TEST_CASE_FIXTURE(Proxied,
                  "cut: after the last byte of the reply the grant holds, and the next one reconnects") {
  audit();
  const std::uint64_t size = size_of_grant(Way::reply);
  proxy.cut_after(Way::reply, size);
  draw();
  CHECK(!proxy.cut_pending());
  draw();
  CHECK(audit().burnt("order") == 0);
}

TEST_CASE_FIXTURE(Proxied, "cut: anywhere in the request the call goes through on a new connection") {
  audit();
  draw();  // what a grant may not go below is a part of its request, and has all its digits from now on
  const std::uint64_t size = size_of_grant(Way::request);
  REQUIRE(size > 50);
  for (const std::uint64_t bytes : cuts_within(size)) {
    CAPTURE(bytes);
    proxy.cut_after(Way::request, bytes);
    REQUIRE_NOTHROW(draw());
    REQUIRE(!proxy.cut_pending());
  }
  CHECK(audit().burnt("order") == 0);

  proxy.cut_after(Way::request, size);
  draw();
  CHECK(leaf::test::wait_for([&] { return audit().burnt("order") == count; }));
}

TEST_CASE_FIXTURE(Proxied,
                  "cut: anywhere in the replies of a lease one worker stays leased, the one that is told") {
  int owners = 99;  // all numbers of workers have three digits
  bool is_pinned = false;
  SUBCASE("of any worker") {}
  SUBCASE("of a worker that is asked for by its number") {
    is_pinned = true;
  }
  const auto acquire = [&] {
    const std::string owner = fmt::format("owner-{}", ++owners);
    const leaf::WorkerLease lease =
        store.acquire_worker({.owner = owner, .worker = is_pinned ? std::optional(owners) : std::nullopt});
    std::vector<std::int64_t> leased;
    for (const leaf::Worker& worker : leaf::Store({.url = database.url()}).workers()) {
      if (worker.owner == owner && worker.leased) leased.push_back(worker.id);
    }
    CHECK(leased == std::vector{lease.worker});
    return lease;
  };
  database.sql().run(
      "CREATE TABLE leased (token uuid);"
      "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN INSERT INTO public.leased VALUES (NEW.token); RETURN NULL; END';"
      "CREATE TRIGGER note AFTER INSERT OR UPDATE ON leaf_worker FOR EACH ROW WHEN (NEW.token IS NOT NULL)"
      " EXECUTE FUNCTION note()");
  acquire();
  const std::uint64_t before = proxy.passed(Way::reply);
  acquire();
  for (const std::uint64_t bytes : cuts_within(proxy.passed(Way::reply) - before)) {
    CAPTURE(bytes);
    proxy.cut_after(Way::reply, bytes);
    acquire();
    REQUIRE(!proxy.cut_pending());
  }
  // That a token is given up may reach the store late, and must not mean what was leased since.
  if (is_pinned) CHECK(database.sql().value("SELECT count(*) - count(DISTINCT token) FROM leased") == "0");
  // Some of the replies that were lost were of leases.
  std::size_t given_up = 0;
  for (const leaf::Worker& worker : store.workers()) given_up += worker.leased ? 0 : 1;
  CHECK((given_up > 0) == !is_pinned);
}

TEST_CASE_FIXTURE(Proxied, "cut: while logging in the call logs in anew") {
  audit();
  const std::uint64_t before = proxy.passed(Way::reply);
  leaf::Store({.url = url()}).tags();
  const std::uint64_t size = proxy.passed(Way::reply) - before;
  for (const std::uint64_t bytes : cuts_within(size)) {
    CAPTURE(bytes);
    leaf::Store newcomer({.url = url()});
    proxy.cut_after(Way::reply, bytes);
    CHECK(newcomer.tags().size() == 1);
    REQUIRE(!proxy.cut_pending());
  }
}

TEST_CASE("cut: a reply that is held back past the timeout burns its range") {
  Proxied proxied;
  proxied.audit();
  leaf::Store store({.url = proxied.url(), .timeout = patience});
  store.tags();
  proxied.proxy.hold(Way::reply);
  store.set_timeout(std::chrono::seconds(2));
  const leaf::Error error = error_of([&] { store.grant(order, count); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.sqlstate() == "57014");
  CHECK(leaf::test::wait_for([&] { return proxied.audit().committed("order") == 1; }));
  proxied.proxy.release();
  store.set_timeout(patience);
  proxied.audit().given("order", store.grant(order, count).range);
  CHECK(proxied.audit().burnt("order") == count);
}

TEST_CASE("cut: a connection that the server ended while it was idle is replaced without a word") {
  leaf::test::TestDatabase database;
  const std::string url = database.url("application_name=idle");
  leaf::Store store({.url = url});
  store.migrate();
  store.add_tag({.name = order, .step = 10, .start = {}, .limit = {}, .description = {}});
  const std::string sessions = " FROM pg_stat_activity WHERE application_name = 'idle'";
  SUBCASE("by an administrator") {
    database.sql().run("SELECT pg_terminate_backend(pid)" + sessions);
  }
  SUBCASE("by idle_session_timeout") {
    if (database.server_version() < 14) return;
    store = leaf::Store({.url = url + " options='-c idle_session_timeout=50ms'"});
    store.tags();
  }
  REQUIRE(leaf::test::wait_for([&] { return database.sql().value("SELECT count(*)" + sessions) == "0"; }));
  CHECK(store.grant(order, count).range == leaf::Range{1, 1 + count});
}
