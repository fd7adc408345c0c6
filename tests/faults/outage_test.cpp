#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>

#include "leaf/clock.hpp"
#include "leaf/error.hpp"
#include "leaf/segment.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/grant_audit.hpp"
#include "support/manual_clock.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"

using leaf::test::error_of;
using leaf::test::patience;
using leaf::test::PostgresqlCluster;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

const leaf::TagName order("order");
constexpr std::int64_t step = 100;

struct Outage {
  Outage() {
    leaf::Store store({.url = cluster.url()});
    store.migrate();
    store.add_tag({.name = order, .step = step, .start = {}, .limit = {}, .description = {}});
    audit.emplace(cluster.url());
  }

  PostgresqlCluster cluster;
  std::optional<leaf::test::GrantAudit> audit;
};

}  // namespace

TEST_CASE_FIXTURE(Outage, "outage: an allocator serves to the end of its buffer and resumes by itself") {
  leaf::SegmentAllocator allocator({.url = cluster.url(), .timeout = milliseconds(2000)},
                                   {.timeout = milliseconds(500), .max_step = step, .on_fetch_failure = {}});
  leaf::SegmentTag tag = allocator.tag(order);
  std::vector<std::int64_t> given;
  const auto draw = [&] { given.push_back(tag.next()); };
  for (const std::string how : {"stop -m fast", "stop -m immediate", "kill -9"}) {
    CAPTURE(how);
    // More than a tenth of the current segment is used, so the next one is fetched.
    for (std::int64_t i = 0; i < step / 5; ++i) draw();
    leaf::test::SqlSession eyes(cluster.url());
    const auto last_granted = [&] { return std::stoll(eyes.value("SELECT max_id - 1 FROM leaf_alloc")); };
    REQUIRE(leaf::test::wait_for([&] { return last_granted() >= given.back() + step; }));
    const std::int64_t last = last_granted();

    if (how == "kill -9") {
      cluster.kill();
    } else {
      cluster.stop(how == "stop -m fast" ? PostgresqlCluster::Stop::fast
                                         : PostgresqlCluster::Stop::immediate);
    }
    const auto begun = steady_clock::now();
    while (given.back() < last) REQUIRE_NOTHROW(draw());
    const leaf::Error error = error_of(draw);
    CHECK(error.code() == leaf::ErrorCode::unavailable);
    CHECK(std::string(error.what()).find("tag 'order'") != std::string::npos);
    CHECK(steady_clock::now() - begun < milliseconds(3000));

    cluster.start();
    const auto back = steady_clock::now();
    REQUIRE(leaf::test::wait_for([&] {
      try {
        draw();
        return true;
      } catch (const leaf::Error&) {
        return false;
      }
    }));
    CHECK(steady_clock::now() - back < std::chrono::seconds(10));
  }
  audit->reconnect();
  for (const std::int64_t id : given) audit->given("order", {id, id + 1});
}

TEST_CASE_FIXTURE(Outage, "outage: a store that was connected goes on with the next call after a restart") {
  leaf::test::ManualClock clock;
  leaf::Store store({.url = cluster.url(), .clock = &clock});
  audit->given("order", store.grant(order, 5).range);
  cluster.stop(PostgresqlCluster::Stop::fast);
  const leaf::Error down = error_of([&] { store.grant(order, 5); });
  CHECK(down.code() == leaf::ErrorCode::unavailable);
  CHECK(error_of([&] { store.grant(order, 5); }).code() == leaf::ErrorCode::unavailable);
  cluster.start();
  const leaf::Range second = store.grant(order, 5).range;
  cluster.stop(PostgresqlCluster::Stop::immediate);
  cluster.start();
  const leaf::Range third = store.grant(order, 5).range;
  audit->reconnect();
  audit->given("order", second);
  audit->given("order", third);
}

namespace {

/// A machine whose server comes back while somebody pauses.
class RestartingClock : public leaf::Clock {
 public:
  explicit RestartingClock(PostgresqlCluster& cluster) : cluster_(cluster) {}

  std::chrono::system_clock::time_point now() override { return real().now(); }
  steady_clock::time_point steady_now() override { return real().steady_now(); }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  steady_clock::time_point deadline) override {
    real().wait_until(lock, changed, deadline);
  }
  void sleep_for(std::chrono::nanoseconds) override {
    if (++pauses == 3) cluster_.start();
  }

  int pauses = 0;

 private:
  PostgresqlCluster& cluster_;
};

}  // namespace

TEST_CASE_FIXTURE(Outage, "outage: each call waits for a server that starts again, as long as it may") {
  RestartingClock clock(cluster);
  leaf::Store store({.url = cluster.url(), .timeout = milliseconds(60'000), .clock = &clock});
  const auto through_a_restart = [&](auto call) {
    cluster.stop(PostgresqlCluster::Stop::fast);
    clock.pauses = 0;
    call();
    CHECK(clock.pauses >= 3);
  };
  leaf::Range granted;
  through_a_restart([&] { granted = store.grant(order, 5).range; });
  through_a_restart([&] { CHECK(store.tags().size() == 1); });
  through_a_restart([&] { store.update_tag(order, {.description = "shop"}); });
  through_a_restart([&] { CHECK(store.health().schema_version > 0); });

  cluster.stop(PostgresqlCluster::Stop::fast);
  store.set_timeout(milliseconds(0));
  clock.pauses = 0;
  CHECK(error_of([&] { store.tags(); }).code() == leaf::ErrorCode::unavailable);
  CHECK(clock.pauses == 0);
  cluster.start();
  audit->reconnect();
  audit->given("order", granted);
}

TEST_CASE_FIXTURE(Outage, "outage: a server that is frozen is given up at the timeout") {
  leaf::Store store({.url = cluster.url() + " application_name=frozen", .timeout = patience});
  store.tags();
  store.set_timeout(milliseconds(500));
  leaf::test::SqlSession eyes(cluster.url());
  const pid_t backend =
      std::stoi(eyes.value("SELECT pid FROM pg_stat_activity WHERE application_name = 'frozen'"));
  const pid_t postmaster = cluster.postmaster();
  for (const pid_t process : {backend, postmaster}) REQUIRE(kill(process, SIGSTOP) == 0);
  const auto begun = steady_clock::now();
  const leaf::Error open = error_of([&] { store.grant(order, 5); });
  const leaf::Error login = error_of([&] { store.grant(order, 5); });
  const auto took = steady_clock::now() - begun;
  for (const pid_t process : {backend, postmaster}) REQUIRE(kill(process, SIGCONT) == 0);
  CHECK(open.code() == leaf::ErrorCode::unavailable);
  CHECK(login.code() == leaf::ErrorCode::unavailable);
  CHECK(took < milliseconds(5000));
  store.set_timeout(patience);
  audit->given("order", store.grant(order, 5).range);
}

TEST_CASE_FIXTURE(
    Outage,
    "outage: the processes of a host go on from their buffer, fail in time, and resume by themselves") {
  const leaf::test::TemporaryFolder home;
  const leaf::HostOptions host{.folder = home.path() / "run", .fetch_ahead = false};
  // Each as in a process of its own.
  const auto draw = [&](milliseconds timeout) {
    leaf::SegmentAllocator allocator(
        {.url = cluster.url(), .timeout = timeout},
        {.timeout = timeout, .max_step = step, .on_fetch_failure = {}, .host = host});
    leaf::SegmentTag tag = allocator.tag(order);
    const std::int64_t id = tag.next();
    if (tag.claim_fetch()) leaf::test::error_code([&] { tag.fetch(); });
    return id;
  };
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < step / 5; ++i) CHECK(draw(milliseconds(5000)) == ++last);
  cluster.stop(PostgresqlCluster::Stop::fast);
  while (last < 2 * step) CHECK(draw(milliseconds(500)) == ++last);
  const auto begun = steady_clock::now();
  CHECK(error_of([&] { draw(milliseconds(500)); }).code() == leaf::ErrorCode::unavailable);
  CHECK(steady_clock::now() - begun < std::chrono::seconds(20));
  cluster.start();
  CHECK(draw(milliseconds(60'000)) == ++last);
  audit->reconnect();
  for (std::int64_t id = 1; id <= last; ++id) audit->given("order", {id, id + 1});
}

TEST_CASE(
    "outage: a host whose service names another database goes there, though it is connected to the former") {
  constexpr std::int64_t start_of_other = 1'000'000;
  leaf::test::TestDatabase former, other;
  for (const auto& [database, start] : {std::pair{&former, std::int64_t{1}}, {&other, start_of_other}}) {
    leaf::Store store({.url = database->url()});
    store.migrate();
    store.add_tag({.name = order, .step = step, .start = start});
  }
  const leaf::test::TemporaryFolder home;
  const std::string services = home.path() / "services";
  const auto name = [&](leaf::test::TestDatabase& database) {
    std::ofstream(services) << "[ids]\ndbname=" << database.name() << "\n";
  };
  name(former);
  setenv("PGSERVICEFILE", services.c_str(), 1);
  leaf::SegmentAllocator allocator(
      {.url = "service=ids", .timeout = patience},
      {.timeout = patience,
       .on_fetch_failure = {},
       .host = leaf::HostOptions{
           .folder = home.path() / "run", .store_files = {services}, .fetch_ahead = false}});
  leaf::SegmentTag tag = allocator.tag(order);
  CHECK(tag.next() == 1);
  name(other);
  tag.fetch();
  CHECK(tag.next() == start_of_other);
  unsetenv("PGSERVICEFILE");
}

TEST_CASE_FIXTURE(Outage, "outage: behind a pooler, too, a server that starts again is waited for") {
  const std::string host = std::getenv("PGHOST"), port = std::getenv("PGPORT");
  setenv("PGHOST", cluster.host().c_str(), 1);
  setenv("PGPORT", "5432", 1);
  const leaf::test::Pgbouncer pgbouncer;
  setenv("PGHOST", host.c_str(), 1);
  setenv("PGPORT", port.c_str(), 1);
  leaf::test::ManualClock clock;
  leaf::Store store({.url = "dbname=postgres " + pgbouncer.parameters(),
                     .timeout = std::chrono::seconds(60),
                     .clock = &clock});
  CHECK(store.grant(order, step).range.lo == 1);
  audit.reset();
  cluster.stop(PostgresqlCluster::Stop::fast);
  // From the first call that has waited for the server the pooler knows that it is away.
  leaf::Store first({.url = "dbname=postgres " + pgbouncer.parameters(), .timeout = milliseconds(300)});
  CHECK(error_of([&] { first.tags(); }).code() == leaf::ErrorCode::unavailable);
  const auto begun = clock.steady_now();
  const leaf::Error error = error_of([&] { store.grant(order, step); });
  CAPTURE(std::string(error.what()));
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.sqlstate() == "57P03");
  CHECK(clock.steady_now() - begun > std::chrono::seconds(55));
}
