#include <doctest/doctest.h>
#include <fmt/format.h>

#include <optional>
#include <stdexcept>
#include <thread>

#include "leaf/snowflake.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/manual_clock.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"
#include "support/worker_request.hpp"

using namespace std::chrono_literals;
using leaf::ErrorCode;
using leaf::Layout;
using leaf::Store;
using leaf::WorkerRange;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::error_text;
using leaf::test::ManualClock;
using leaf::test::request_of;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;

namespace {

/// A store of eight workers.
struct EightWorkerDatabase {
  EightWorkerDatabase() {
    store.migrate();
    store.set_layout(Layout::parse("41,3,12"));
  }
  /// Time passes for what was leased.
  void pass(std::chrono::milliseconds time) {
    sql().run(fmt::format(
        "ALTER TABLE leaf_worker DISABLE TRIGGER USER;"
        "UPDATE leaf_worker SET window_end = window_end - {0}, held_after = 0, renewed_at = renewed_at - {0};"
        "ALTER TABLE leaf_worker ENABLE TRIGGER USER",
        time.count()));
  }
  SqlSession& sql() { return database.sql(); }
  /// One that remembers no lease.
  Store another() const { return Store({.url = database.url(), .timeout = 60s}); }

  TestDatabase database;
  Store store{{.url = database.url(), .timeout = 60s}};
};

/// What a program that knows of no range sends for a new worker, in short.
std::string insert(int worker,
                   const std::string& end = "extract(epoch FROM clock_timestamp()) * 1000 + 1000") {
  return fmt::format(
      "INSERT INTO leaf_worker (worker_id, owner, token, window_end, held_after, renewed_at, clock_offset)"
      " VALUES ({}, 'old', gen_random_uuid(), {}, 0, extract(epoch FROM clock_timestamp()) * 1000, 0)",
      worker, end);
}

/// Somebody waits for a lock in this database.
bool somebody_waits(SqlSession& session) {
  return session.value(
             "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND database ="
             " (SELECT oid FROM pg_database WHERE datname = current_database())") == "t";
}

std::string failure(SqlSession& session, const std::string& statement) {
  try {
    session.run(statement);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE_FIXTURE(EightWorkerDatabase,
                  "worker range on PostgreSQL: a store leases all of it and nothing else") {
  CHECK(store.worker_range() == WorkerRange{0, 7});
  store.set_worker_range(WorkerRange{2, 4});
  CHECK(store.worker_range() == WorkerRange{2, 4});
  CHECK(store.acquire_worker(request_of("pinned", 3)).worker == 3);
  CHECK(store.acquire_worker(request_of("a")).worker == 2);
  CHECK(store.acquire_worker(request_of("b")).worker == 4);
  CHECK(error_text([&] {
          store.acquire_worker(request_of("c"));
        }).starts_with("all 3 workers that this store leases, 2 to 4, are taken | "));
  CHECK(error_code([&] { store.acquire_worker(request_of("c", 5)); }) == ErrorCode::usage);
  CHECK(store.workers().size() == 3);
}

TEST_CASE_FIXTURE(EightWorkerDatabase,
                  "worker range on PostgreSQL: what is free, one's own or silent outside is nobody's") {
  for (const std::int64_t worker : {0, 1, 6, 7}) store.acquire_worker(request_of("a", worker));
  pass(24h);
  store.recycle_worker(1, false);
  store.recycle_worker(6, false);
  store.set_worker_range(WorkerRange{2, 5});
  for (std::int64_t worker = 2; worker <= 5; ++worker)
    CHECK(store.acquire_worker(request_of("a")).worker == worker);
  CHECK(error_code([&] { store.acquire_worker(request_of("a")); }) == ErrorCode::exhausted);
  for (const leaf::Worker& worker : store.workers())
    CHECK(worker.in_range == (worker.id >= 2 && worker.id <= 5));
}

TEST_CASE_FIXTURE(EightWorkerDatabase,
                  "worker range on PostgreSQL: a free worker outside is not in the way of one inside") {
  for (const std::int64_t worker : {1, 3}) store.acquire_worker(request_of("a", worker));
  pass(11min);
  for (const std::int64_t worker : {1, 3}) store.recycle_worker(worker, false);
  store.set_worker_range(WorkerRange{3, 3});
  CHECK(another().acquire_worker(request_of("c")).worker == 3);
}

TEST_CASE_FIXTURE(EightWorkerDatabase, "worker range on PostgreSQL: nor is one whose owner is silent") {
  store.acquire_worker(request_of("a", 7));
  pass(1min);
  store.acquire_worker(request_of("b", 3));
  pass(2h);
  store.set_worker_range(WorkerRange{3, 3});
  CHECK(another().acquire_worker(request_of("c")).worker == 3);
}

TEST_CASE_FIXTURE(EightWorkerDatabase,
                  "worker range on PostgreSQL: with another range the first that was never taken is found") {
  store.set_worker_range(WorkerRange{5, 7});
  CHECK(store.acquire_worker(request_of("a")).worker == 5);
  CHECK(store.acquire_worker(request_of("b")).worker == 6);
  store.set_worker_range(WorkerRange{4, 7});
  CHECK(store.acquire_worker(request_of("c")).worker == 4);
  CHECK(store.acquire_worker(request_of("d")).worker == 7);
  store.set_worker_range({});
  CHECK(store.acquire_worker(request_of("e")).worker == 0);
}

TEST_CASE_FIXTURE(
    EightWorkerDatabase,
    "worker range on PostgreSQL: whoever took the last number there is leaves the others free") {
  store.set_worker_range({});
  sql().run(insert(2147483647));
  store.acquire_worker(request_of("a"));
  pass(24h);
  store.set_worker_range(WorkerRange{0, 5});
  CHECK(store.acquire_worker(request_of("b")).worker == 1);
}

TEST_CASE_FIXTURE(EightWorkerDatabase,
                  "worker range on PostgreSQL: it is refused while a worker outside is leased") {
  const auto lease = store.acquire_worker(request_of("a", 6));
  store.acquire_worker(request_of("b", 2));
  const leaf::Error error = error_of([&] { store.set_worker_range(WorkerRange{0, 5}); });
  CHECK(error.code() == ErrorCode::refused);
  CHECK(std::string(error.what()).starts_with("workers outside of 0 to 5 are leased: 6 ('a') until 20"));
  // Whoever writes the SQL is refused too.
  CHECK(failure(sql(), "UPDATE leaf_meta SET last_worker = 5").find("are leased: 6") != std::string::npos);
  CHECK(failure(sql(), "UPDATE leaf_meta SET first_worker = -1").find("leaf_meta_workers") !=
        std::string::npos);
  CHECK(store.worker_range() == WorkerRange{0, 7});
  pass(24h);
  store.set_worker_range(WorkerRange{0, 5});
  CHECK(error_code([&] { store.renew_worker(lease, request_of("a")); }) == ErrorCode::not_found);
}

TEST_CASE_FIXTURE(
    EightWorkerDatabase,
    "worker range on PostgreSQL: it is refused where a failover came after the leases were read") {
  sql().run(
      "ALTER TABLE leaf_meta DISABLE TRIGGER USER; UPDATE leaf_meta SET granted_by = 'another';"
      "ALTER TABLE leaf_meta ENABLE TRIGGER USER");
  for (const char* const range :
       {"last_worker = 5", "first_worker = 1", "first_worker = 1, last_worker = NULL"}) {
    const std::string told = failure(sql(), std::string("UPDATE leaf_meta SET ") + range);
    CHECK(told.find("the store may lack leases of workers outside of the range") != std::string::npos);
  }
  CHECK(store.worker_range() == WorkerRange{0, 7});
  // Nobody loses a worker to a range that has them all.
  CHECK(failure(sql(), "UPDATE leaf_meta SET last_worker = NULL") == "");
}

TEST_CASE_FIXTURE(EightWorkerDatabase,
                  "worker range on PostgreSQL: programs that know nothing of it keep within") {
  store.acquire_worker(request_of("a", 6));
  pass(24h);
  store.set_worker_range(WorkerRange{0, 5});
  const std::string window = "SELECT window_end FROM leaf_worker WHERE worker_id = 6";
  const std::string before = sql().value(window);
  sql().run("UPDATE leaf_worker SET window_end = window_end + 1");
  CHECK(sql().value(window) == before);
  CHECK(failure(sql(), insert(7)).find("worker 7 is not one of those that this store leases, from 0 to 5") !=
        std::string::npos);
  // Of a host whose clock lags.
  CHECK(failure(sql(), insert(7, "1000")) != "");
  CHECK(failure(sql(), insert(5)) == "");
}

TEST_CASE_FIXTURE(
    EightWorkerDatabase,
    "worker range on PostgreSQL: who leases at the moment of a change has it wait, and refused") {
  SqlSession lessee(database.url());
  lessee.run("BEGIN; " + insert(6));
  std::optional<ErrorCode> code;
  std::jthread setter([&] {
    code = error_code([&] {
      Store({.url = database.url(), .timeout = 60s}).set_worker_range(WorkerRange{0, 5});
    });
  });
  CHECK(leaf::test::wait_for([&] { return somebody_waits(sql()); }));
  lessee.run("COMMIT");
  setter.join();
  CHECK(code == ErrorCode::refused);
  CHECK(store.worker_range() == WorkerRange{0, 7});
}

TEST_CASE_FIXTURE(EightWorkerDatabase,
                  "worker range on PostgreSQL: who waits for a change to end leases within the new range") {
  std::string refusal;
  SUBCASE("in READ COMMITTED") {}
  SUBCASE("in REPEATABLE READ") {
    sql().run("ALTER DATABASE " + database.name() + " SET default_transaction_isolation = 'repeatable read'");
  }
  SqlSession setter(database.url());
  setter.run("BEGIN ISOLATION LEVEL READ COMMITTED; UPDATE leaf_meta SET last_worker = 5");
  std::jthread lessee([&] {
    SqlSession session(database.url());
    refusal = failure(session, insert(6));
  });
  CHECK(leaf::test::wait_for([&] { return somebody_waits(sql()); }));
  setter.run("COMMIT");
  lessee.join();
  CHECK(refusal != "");
  CHECK(store.workers().empty());
}

TEST_CASE_FIXTURE(EightWorkerDatabase,
                  "worker range on PostgreSQL: a snapshot of before a change leases nothing, nor makes one") {
  SqlSession late(database.url());
  late.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM leaf_meta");
  store.set_worker_range(WorkerRange{0, 5});
  CHECK(failure(late, insert(6)).find("could not serialize access") != std::string::npos);
  late.run("ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM leaf_meta");
  sql().run(insert(5));
  CHECK(failure(late, "UPDATE leaf_meta SET last_worker = 4").find("READ COMMITTED") != std::string::npos);
  CHECK(store.worker_range() == WorkerRange{0, 5});
}

TEST_CASE_FIXTURE(EightWorkerDatabase,
                  "worker range on PostgreSQL: SERIALIZABLE as the default leases and sets it") {
  sql().run("ALTER DATABASE " + database.name() + " SET default_transaction_isolation = 'serializable'");
  Store serializable({.url = database.url(), .timeout = 60s});
  serializable.set_worker_range(WorkerRange{2, 4});
  const auto lease = serializable.acquire_worker(request_of("a"));
  CHECK(lease.worker == 2);
  CHECK(serializable.renew_worker(lease, request_of("a")).begin == lease.end);
  CHECK(serializable.acquire_worker(request_of("b", 4)).worker == 4);
}

TEST_CASE_FIXTURE(
    EightWorkerDatabase,
    "worker range on PostgreSQL: after a failover it is not narrowed before old windows are over") {
  sql().run("UPDATE leaf_meta SET leases_from = extract(epoch FROM clock_timestamp()) * 1000 + 60000");
  CHECK(error_code([&] { store.set_worker_range(WorkerRange{0, 5}); }) == ErrorCode::unavailable);
  CHECK(store.worker_range() == WorkerRange{0, 7});
  sql().run("UPDATE leaf_meta SET leases_from = 0");
  store.set_worker_range(WorkerRange{0, 5});
  sql().run("UPDATE leaf_meta SET leases_from = extract(epoch FROM clock_timestamp()) * 1000 + 60000");
  // A backup may have had a range from before a wider one.
  for (const std::int64_t last : {5, 6, 7})
    CHECK(error_code([&] { store.set_worker_range(WorkerRange{0, last}); }) == ErrorCode::unavailable);
  CHECK(store.worker_range() == WorkerRange{0, 5});
  store.set_worker_range({});
  CHECK(store.worker_range() == WorkerRange{0, 7});
  // Nor does one of numbers take the place of all.
  CHECK(error_code([&] { store.set_worker_range(WorkerRange{0, 7}); }) == ErrorCode::unavailable);
}

TEST_CASE_FIXTURE(EightWorkerDatabase,
                  "worker range on PostgreSQL: rows of a backup that are over come back") {
  store.set_worker_range(WorkerRange{0, 5});
  CHECK(failure(sql(),
                "INSERT INTO leaf_worker (worker_id, owner, window_end, held_after, renewed_at, clock_offset)"
                " VALUES (6, 'old', 1000, 0, 0, 0)") == "");
  CHECK(store.workers().size() == 1);
}

TEST_CASE("worker range on PostgreSQL: no layout is set before windows that may be lost are over") {
  TestDatabase database;
  Store store({.url = database.url()});
  store.migrate();
  const Layout other = Layout::parse("cosid");
  const auto wait_for = [&](const std::string& ms) {
    database.sql().run("UPDATE leaf_meta SET leases_from = extract(epoch FROM clock_timestamp()) * 1000 + " +
                       ms);
  };
  wait_for("60000");
  CHECK(error_code([&] { store.set_layout(other); }) == ErrorCode::unavailable);
  CHECK(error_code([&] { store.set_layout(other, WorkerRange{0, 7}); }) == ErrorCode::unavailable);
  // Also where no worker goes.
  CHECK(error_code([&] { store.set_layout(Layout::parse("41,12,10"), std::nullopt); }) ==
        ErrorCode::unavailable);
  CHECK(store.layout() == Layout::parse("leaf"));
  store.set_layout(Layout::parse("leaf"));
  ManualClock clock;
  Store elsewhere({.url = database.url(), .clock = &clock});
  clock.set_back(-10min);
  CHECK(error_code([&] { elsewhere.set_layout(other); }) == ErrorCode::unavailable);
  wait_for("-1");
  clock.set_back(20min);
  CHECK(error_code([&] { elsewhere.set_layout(other); }) == ErrorCode::unavailable);
  store.set_layout(other);
  CHECK(store.layout() == other);
}

TEST_CASE("worker range on PostgreSQL: it lies in the layout, whichever changes") {
  TestDatabase database;
  Store store({.url = database.url()});
  store.migrate();
  CHECK(error_code([&] { store.set_worker_range(WorkerRange{0, 1024}); }) == ErrorCode::usage);
  store.set_worker_range(WorkerRange{512, 1023});
  CHECK(error_code([&] { store.set_layout(Layout::parse("41,8,14")); }) == ErrorCode::usage);
  store.set_worker_range({});
  store.set_layout(Layout::parse("41,8,14"));
  CHECK(store.worker_range() == WorkerRange{0, 255});
}
