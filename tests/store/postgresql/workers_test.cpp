#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "host/state_patch.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "leaf/snowflake.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/interrupted_clock.hpp"
#include "support/is_waited_for.hpp"
#include "support/manual_clock.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"
#include "support/worker_request.hpp"

using namespace std::chrono_literals;
using leaf::ErrorCode;
using leaf::SnowflakeGenerator;
using leaf::SnowflakeOptions;
using leaf::Store;
using leaf::WorkerLease;
using leaf::WorkerRequest;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::error_text;
using leaf::test::InterruptedClock;
using leaf::test::is_waited_for;
using leaf::test::ManualClock;
using leaf::test::request_of;
using leaf::test::TestDatabase;

namespace {

/// A migrated database whose windows PostgreSQL itself keeps from overlapping: every window that is granted
/// is noted, and an exclusion constraint refuses one that overlaps another of the same worker.
class AuditedWorkers {
 public:
  AuditedWorkers() {
    Store(options()).migrate();
    database_.sql().run("CREATE EXTENSION IF NOT EXISTS btree_gist");
    database_.sql().run(
        "CREATE TABLE granted (worker_id integer, token uuid, span int8range,"
        " EXCLUDE USING gist (worker_id WITH =, token WITH <>, span WITH &&))");
    // A holder's windows follow each other, so one row a holder says it all; giving up shortens it.
    database_.sql().run(
        "CREATE FUNCTION note_window() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ "
        "BEGIN"
        " IF NEW.token IS NULL THEN"
        "  UPDATE granted SET span = int8range(lower(span), greatest(lower(span), NEW.window_end))"
        "  WHERE worker_id = OLD.worker_id AND token = OLD.token AND NEW.window_end < upper(span);"
        " ELSIF TG_OP = 'INSERT' OR NEW.token IS DISTINCT FROM OLD.token THEN"
        "  INSERT INTO granted VALUES (NEW.worker_id, NEW.token, int8range(NEW.held_after, NEW.window_end));"
        " ELSE"
        "  UPDATE granted SET span = int8range(lower(span), NEW.window_end)"
        "  WHERE worker_id = NEW.worker_id AND token = NEW.token;"
        " END IF; RETURN NULL; END $$");
    database_.sql().run(
        "CREATE TRIGGER note_window AFTER INSERT OR UPDATE ON leaf_worker FOR EACH ROW EXECUTE FUNCTION "
        "note_window()");
  }

  leaf::StoreOptions options(leaf::Clock& clock = leaf::Clock::real()) const {
    return {.url = database_.url(), .timeout = 60s, .clock = &clock};
  }
  TestDatabase& database() { return database_; }
  /// All that a lease may write.
  std::string tables() {
    return database_.sql().value(
        "SELECT coalesce((SELECT json_agg(w ORDER BY worker_id) FROM leaf_worker w)::text, '')"
        " || (SELECT row_to_json(m) FROM leaf_meta m)::text");
  }

 private:
  TestDatabase database_;
};

}  // namespace

TEST_CASE("workers on PostgreSQL: 1,100 claimants get 1,024 different ones, 76 are told that all are taken") {
  AuditedWorkers fixture;
  std::mutex mutex;
  std::set<std::int64_t> workers;
  std::atomic<int> next{0}, exhausted{0}, repeated{0};
  {
    std::vector<std::jthread> claimants;
    for (int t = 0; t < 40; ++t) {
      claimants.emplace_back([&] {
        Store store(fixture.options());
        for (int i = next++; i < 1100; i = next++) {
          try {
            const auto worker = store.acquire_worker(request_of("host" + std::to_string(i))).worker;
            const std::lock_guard lock(mutex);
            if (!workers.insert(worker).second) ++repeated;
          } catch (const leaf::Error& error) {
            if (error.code() == ErrorCode::exhausted && !error.hint().empty()) ++exhausted;
          }
        }
      });
    }
  }
  CHECK(workers.size() == 1024);
  CHECK(*workers.rbegin() == 1023);
  CHECK(exhausted == 76);
  CHECK(repeated == 0);
}

TEST_CASE(
    "workers on PostgreSQL: who finds a free worker that another is about to take does not wait for it") {
  AuditedWorkers fixture;
  Store store(fixture.options());
  const WorkerLease leases[] = {store.acquire_worker(request_of("a")), store.acquire_worker(request_of("b"))};
  for (const WorkerLease& lease : leases) store.release_worker(lease, lease.begin);
  REQUIRE(leaf::test::wait_for([&] { return store.workers().at(1).silent_for > 2ms; }));
  leaf::test::SqlSession& another = fixture.database().sql();
  another.run("BEGIN; SELECT FROM leaf_worker WHERE worker_id = 0 FOR UPDATE");
  leaf::StoreOptions options = fixture.options();
  options.timeout = 2s;  // by which one who waits fails
  CHECK(Store(options).acquire_worker(request_of("c")).worker == 1);
  another.run("COMMIT");
}

TEST_CASE("workers on PostgreSQL: owners that come once and release their worker share one") {
  AuditedWorkers fixture;
  Store store(fixture.options());
  std::vector<std::int64_t> all;
  for (int i = 0; i < 20; ++i) {
    SnowflakeOptions options;
    options.worker.owner = "container" + std::to_string(i);
    options.release_at_end = true;
    {
      SnowflakeGenerator generator(fixture.options(), options);
      all.push_back(generator.next());
    }
    const auto left = store.workers();
    REQUIRE(left.size() == 1);
    CHECK(left[0].owner.empty());
    CHECK(left[0].window_end == leaf::Layout::parse("leaf").time_of(all.back()) + 1ms);
    // The window has to be over by the server's clock.
    CHECK(leaf::test::wait_for([&] { return store.workers()[0].silent_for > 2ms; }));
  }
  CHECK(std::adjacent_find(all.begin(), all.end(), std::greater_equal<>()) == all.end());
  CHECK(store.events().empty());  // who gives its own back is no administrator

  WorkerRequest request = request_of("a");
  const WorkerLease lost = store.acquire_worker(request);
  store.recycle_worker(0, true);
  CHECK_FALSE(store.release_worker(lost, lost.begin));
  CHECK(store.workers().at(0).window_end == lost.end);
}

TEST_CASE("workers on PostgreSQL: a pinned number in the way of new ones is passed over") {
  AuditedWorkers fixture;
  Store store(fixture.options());
  auto pinned = request_of("pinned");
  pinned.worker = 1;
  CHECK(store.acquire_worker(pinned).worker == 1);
  CHECK(store.acquire_worker(request_of("a")).worker == 0);
  CHECK(store.acquire_worker(request_of("b")).worker == 2);
  CHECK(error_code([&] { store.acquire_worker(pinned); }) == ErrorCode::refused);
}

TEST_CASE(
    "workers on PostgreSQL: one that was given back twice, since the server warned, is leased at once") {
  AuditedWorkers fixture;
  Store store(fixture.options());
  const WorkerLease lease = store.acquire_worker(request_of("a"));
  fixture.database().sql().run(
      "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'once'; RETURN NEW; "
      "END $$;"
      "CREATE TRIGGER warn BEFORE UPDATE ON leaf_worker FOR EACH ROW WHEN (NEW.owner IS NULL)"
      " EXECUTE FUNCTION warn()");
  store.release_worker(lease, lease.begin);
  CHECK(store.acquire_worker(request_of("b", lease.worker)).begin < lease.end);
}

TEST_CASE("workers on PostgreSQL: a lease that a crash of the server may lose is refused") {
  AuditedWorkers fixture;
  for (const char* setting : {"synchronous_commit=off", "client_min_messages=error"}) {
    auto options = fixture.options();
    options.url = fixture.database().url(std::string("options='-c ") + setting + "'");
    CHECK(error_code([&] { Store(options).acquire_worker(request_of("a")); }) == ErrorCode::refused);
  }
  for (const char* table : {"leaf_worker", "leaf_meta"}) {
    fixture.database().sql().run(std::string("ALTER TABLE ") + table + " SET UNLOGGED");
    CHECK(error_code([&] { Store(fixture.options()).acquire_worker(request_of("a")); }) ==
          ErrorCode::refused);
    fixture.database().sql().run(std::string("ALTER TABLE ") + table + " SET LOGGED");
  }
  CHECK(Store(fixture.options()).acquire_worker(request_of("b")).worker >= 0);
}

TEST_CASE("workers on PostgreSQL: a layout that is chosen while a worker is claimed is not missed") {
  AuditedWorkers fixture;
  TestDatabase& database = fixture.database();
  database.sql().run("BEGIN; LOCK TABLE leaf_worker IN EXCLUSIVE MODE");
  std::optional<ErrorCode> code;
  Store late(fixture.options());
  std::jthread claimant([&] { code = error_code([&] { late.acquire_worker(request_of("a")); }); });
  Store other(fixture.options());
  CHECK(leaf::test::wait_for([&] { return is_waited_for(database.sql()); }));
  other.set_layout(leaf::Layout::parse("41,8,14"));
  database.sql().run("COMMIT");
  claimant.join();
  CHECK(code == ErrorCode::unavailable);
  CHECK_FALSE(other.workers().at(0).leased);
  CHECK_NOTHROW(late.acquire_worker(request_of("a")));  // as the hint says
}

TEST_CASE(
    "workers on PostgreSQL: a layout that is chosen while a statement claims is not missed, nor kept by the "
    "host") {
  AuditedWorkers fixture;
  TestDatabase& database = fixture.database();
  const leaf::Layout chosen = leaf::Layout::parse("41,8,14");
  // The statement sees the layout of before, and waits.
  database.sql().run("BEGIN; UPDATE leaf_meta SET layout = '" + chosen.text() + "'");
  std::optional<ErrorCode> code;
  Store late(fixture.options());
  std::jthread claimant([&] { code = error_code([&] { late.acquire_worker(request_of("a")); }); });
  CHECK(leaf::test::wait_for([&] { return is_waited_for(database.sql()); }));
  database.sql().run("COMMIT");
  claimant.join();
  CHECK(code == ErrorCode::unavailable);
  CHECK_FALSE(late.workers().at(0).leased);
  CHECK_NOTHROW(late.acquire_worker(request_of("a")));  // as the hint says
  CHECK(late.layout() == chosen);
}

TEST_CASE("workers on PostgreSQL: many holders that come, renew, give up and are recycled never share time") {
  AuditedWorkers fixture;
  Store(fixture.options())
      .set_layout(leaf::Layout::parse("41,3,12"));  // eight workers for twelve who want one
  std::atomic<int> acquired{0};
  {
    std::vector<std::jthread> holders;
    for (int t = 0; t < 12; ++t) {
      holders.emplace_back([&, t] {
        Store store(fixture.options());
        auto request = request_of("host" + std::to_string(t % 6));
        request.window = 20ms;
        request.recycle_after = 0ms;
        for (int i = 0; i < 40; ++i) {
          try {
            WorkerLease lease = store.acquire_worker(request);
            ++acquired;
            for (int renewals = 0; renewals < i % 3; ++renewals) lease = store.renew_worker(lease, request);
            if (i % 4 == 0) store.recycle_worker(lease.worker, true);
            if (i % 4 == 1) store.give_up_worker(lease, lease.begin + 1ms);
          } catch (const leaf::Error& error) {
            // Taken by another one meanwhile, all in use just now, or still to come.
            CAPTURE(std::string(error.what()));
            const bool is_early =
                error.code() == ErrorCode::unavailable &&
                std::string(error.what()).find("is not renewed before") != std::string::npos;
            CHECK((error.code() == ErrorCode::exhausted || error.code() == ErrorCode::not_found || is_early));
          }
        }
      });
    }
  }
  CHECK(acquired > 12);
}

TEST_CASE(
    "workers on PostgreSQL: a host whose clock is off by more than five seconds is refused, and nothing is "
    "written") {
  AuditedWorkers fixture;
  ManualClock clock;
  Store store(fixture.options(clock));
  WorkerLease held;
  for (const bool is_first : {true, false}) {
    if (!is_first) held = store.acquire_worker(request_of("a"));
    const std::string before = fixture.tables();
    for (const auto back : {10s, -10s}) {
      clock.set_back(back);
      for (const std::optional<std::int64_t> worker : {std::optional<std::int64_t>(), {0}, {7}}) {
        auto request = request_of("a");
        request.worker = worker;
        CHECK(error_code([&] { store.acquire_worker(request); }) == ErrorCode::refused);
        if (!is_first) CHECK(error_code([&] { store.renew_worker(held, request); }) == ErrorCode::refused);
      }
      clock.set_back(-back);
    }
    CHECK(fixture.tables() == before);
  }
  clock.set_back(3s);
  SnowflakeOptions options;
  options.worker.owner = "b";
  SnowflakeGenerator lagging(fixture.options(clock), options);
  // Within the allowed skew its window begins by its own clock.
  CHECK(lagging.layout().time_of(lagging.next()) < std::chrono::system_clock::now() - 2s);
  for (const leaf::Worker& worker : store.workers()) {
    if (worker.owner == "b") CHECK(worker.clock_offset < -2s);
  }
}

TEST_CASE("workers on PostgreSQL: a pinned worker that is not free is refused, and nothing is written") {
  AuditedWorkers fixture;
  Store store(fixture.options());
  store.set_layout(leaf::Layout::parse("leaf@4102444800000"));  // begins in 2100
  const std::string before = fixture.tables();
  auto request = request_of("a");
  for (const std::optional<std::int64_t> worker : {std::optional<std::int64_t>(), {7}}) {
    request.worker = worker;
    CHECK(error_code([&] { store.acquire_worker(request); }) == ErrorCode::exhausted);
  }
  CHECK(fixture.tables() == before);
  store.set_layout(leaf::Layout::parse("leaf"));
  store.acquire_worker(request);
  const std::string held = fixture.tables();
  request.owner = "b";
  CHECK(error_code([&] { store.acquire_worker(request); }) == ErrorCode::refused);
  CHECK(fixture.tables() == held);
}

TEST_CASE("workers on PostgreSQL: one that somebody else locks is waited for within the timeout") {
  TestDatabase database;
  InterruptedClock clock;
  Store store({.url = database.url(), .timeout = 5s, .clock = &clock});
  store.migrate();
  store.set_worker_range(leaf::WorkerRange{0, 0});
  const WorkerLease unused = store.acquire_worker(request_of("a"));
  REQUIRE(store.release_worker(unused, unused.begin));
  leaf::test::SqlSession holder(database.url());
  holder.run("BEGIN; SELECT FROM leaf_worker FOR UPDATE");
  const auto begin = clock.now();
  SUBCASE("and has it in the end") {
    clock.interruption = [&] { holder.run("ROLLBACK"); };
    CHECK(store.await_worker(request_of("b")).worker == 0);
  }
  SUBCASE("and no longer") {
    const leaf::Error error = error_of([&] { store.await_worker(request_of("b")); });
    CHECK(error.code() == ErrorCode::unavailable);
    CHECK(error.hint().starts_with("try again; see who holds a lock"));
    CHECK(clock.now() - begin > 4s);
  }
  CHECK(clock.now() - begin < 5s);
}

TEST_CASE("workers on PostgreSQL: a window that is over by the server's clock alone is waited for") {
  TestDatabase database;
  ManualClock behind;
  Store store({.url = database.url()}), late({.url = database.url(), .timeout = 2s, .clock = &behind});
  store.migrate();
  store.set_worker_range(leaf::WorkerRange{0, 0});
  const WorkerLease used = store.acquire_worker(request_of("a"));
  REQUIRE(store.release_worker(
      used, std::max(used.begin, std::chrono::floor<std::chrono::milliseconds>(leaf::Clock::real().now()))));
  behind.set_back(4s);
  for (const auto& claim : {&Store::acquire_worker, &Store::await_worker}) {
    const leaf::Error error = error_of([&] { (late.*claim)(request_of("b")); });
    CHECK(error.code() == ErrorCode::exhausted);
    CHECK(error.hint().starts_with("try again at "));
  }
  const leaf::Error pinned = error_of([&] { late.acquire_worker(request_of("b", 0)); });
  CHECK(pinned.code() == ErrorCode::refused);
  CHECK(pinned.hint().starts_with(
      "this host's clock is behind the store's: set it right, wait until it says "));
  Store patient({.url = database.url(), .timeout = 10s, .clock = &behind});
  const auto begin = behind.now();
  CHECK(patient.await_worker(request_of("b")).worker == 0);
  CHECK(behind.now() - begin > 3s);
}

TEST_CASE("workers on PostgreSQL: what the server leased while its clock was ahead keeps only its owner") {
  AuditedWorkers fixture;
  Store store(fixture.options());
  const WorkerLease lease = store.acquire_worker(request_of("vanished"));
  fixture.database().sql().run(
      "ALTER TABLE leaf_worker DISABLE TRIGGER leaf_worker_not_kept_for_good;"
      "UPDATE leaf_worker SET renewed_at = renewed_at + 31536000000, window_end = window_end + 31536000000;"
      "ALTER TABLE leaf_worker ENABLE TRIGGER leaf_worker_not_kept_for_good");
  const std::string before = fixture.tables();
  CHECK(store.workers().at(0).leased_ahead());
  CHECK(store.workers().at(0).silent_for < -364 * 24h);
  auto pinned = request_of("vanished");
  pinned.worker = 9;
  for (const WorkerRequest& request : {request_of("vanished"), pinned})
    CHECK(error_code([&] { store.acquire_worker(request); }) == ErrorCode::refused);
  CHECK(error_code([&] { store.renew_worker(lease, request_of("vanished")); }) == ErrorCode::refused);
  CHECK(fixture.tables() == before);
  CHECK(store.acquire_worker(request_of("b")).worker == 1);
  CHECK(store.release_workers("vanished") == std::vector<std::int64_t>{0});
  CHECK(store.acquire_worker(request_of("vanished")).worker == 2);
  CHECK(store.workers().at(0).window_end > lease.end + 364 * 24h);
}

TEST_CASE("workers on PostgreSQL: a lease that waits for longer than the clocks may differ is not refused") {
  AuditedWorkers fixture;
  TestDatabase& database = fixture.database();
  auto request = request_of("a");
  request.max_skew = 20ms;
  Store store(fixture.options());
  leaf::test::SqlSession watcher(database.url());  // in a transaction pg_stat_activity would stay as it was
  WorkerLease lease;
  const auto when_locked = [&](const std::function<void()>& call) {
    database.sql().run("BEGIN; LOCK TABLE leaf_worker IN EXCLUSIVE MODE");
    std::string refusal;
    std::jthread caller([&] { refusal = error_text(call); });
    CHECK(leaf::test::wait_for([&] {
      return watcher.value(
                 "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted"
                 " AND relation = 'leaf_worker'::regclass"
                 " AND clock_timestamp() - query_start > '100 ms'") == "1";
    }));
    database.sql().run("COMMIT");
    caller.join();
    CHECK(refusal == "");
  };
  when_locked([&] { lease = store.acquire_worker(request); });
  REQUIRE(lease.begin < lease.end);
  when_locked([&] { store.renew_worker(lease, request); });
}

TEST_CASE("workers on PostgreSQL: who has given up two is leased no time before the end of either") {
  AuditedWorkers fixture;
  Store store(fixture.options());
  WorkerRequest request = request_of("a");
  request.max_backward = 1h;
  leaf::UnixTime last_end{};
  for (const std::int64_t worker : {3, 4, 5}) {
    request.worker = worker;
    const WorkerLease lease = store.acquire_worker(request);
    CHECK(lease.begin >= last_end);
    last_end = lease.begin + 1min;
    CHECK(store.give_up_worker(lease, last_end));
  }
}

TEST_CASE(
    "workers on PostgreSQL: a day ahead and back within a process is refused and then goes on as before") {
  AuditedWorkers fixture;
  ManualClock clock;
  SnowflakeOptions options;
  options.worker.owner = "a";
  SnowflakeGenerator generator(fixture.options(clock), options);
  const auto before = generator.next();
  clock.set_back(-24h);
  CHECK(error_code([&] { generator.next(); }) == ErrorCode::refused);
  clock.set_back(24h);
  clock.advance(1ms);
  const auto after = generator.next();
  CHECK(after > before);
  const auto lead =
      generator.layout().time_of(after) - std::chrono::floor<std::chrono::milliseconds>(clock.now());
  CHECK(lead <= 0ms);
}

TEST_CASE("workers on PostgreSQL: two generators and a stopped one whose worker was taken make no ID twice") {
  AuditedWorkers fixture;
  ManualClock clock;
  SnowflakeOptions options;
  options.worker.owner = "stopped";
  options.worker.window = 1s;
  options.worker.max_skew = 1h;
  const auto draw = [](SnowflakeGenerator& generator, std::vector<std::int64_t>& into) {
    std::vector<std::int64_t> ids(10'000);
    generator.next(ids);
    into.insert(into.end(), ids.begin(), ids.end());
  };
  std::vector<std::int64_t> all;
  SnowflakeGenerator stopped(fixture.options(clock), options);
  draw(stopped, all);
  clock.advance(10s);
  Store(fixture.options()).recycle_worker(stopped.worker(), true);
  options.worker.owner = "taker";
  options.worker.worker = stopped.worker();
  // The store's own clock has to pass the window's end as well.
  while (error_code([&] {
    SnowflakeGenerator taker(fixture.options(clock), options);
    draw(taker, all);
  })) {
  }
  draw(stopped, all);
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  CHECK(all.size() == 30'000);
}

TEST_CASE(
    "workers on PostgreSQL: a lease that is renewed before the server's clock has come to it is not lost") {
  TestDatabase database;
  ManualClock ahead;
  ahead.set_back(
      std::chrono::floor<std::chrono::milliseconds>(ahead.now() - std::chrono::system_clock::now()) - 3s);
  Store store({.url = database.url(), .clock = &ahead});
  store.migrate();
  const WorkerLease first = store.acquire_worker(request_of("a"));
  store.give_up_worker(first, std::chrono::floor<std::chrono::milliseconds>(ahead.now()));
  const WorkerLease second = store.acquire_worker(request_of("a"));
  CHECK(second.worker == first.worker);
  const leaf::Error error = error_of([&] { store.renew_worker(second, request_of("a")); });
  CHECK(error.code() == ErrorCode::unavailable);
  CHECK(std::string(error.what()) == "worker 0 was leased from " +
                                         leaf::detail::format_rfc3339(second.begin) +
                                         " on, and is not renewed before");
  database.sql().run("ALTER TABLE leaf_worker DISABLE TRIGGER leaf_worker_held_before");
  CHECK(store.renew_worker(second, request_of("a")).begin == second.end);  // nothing else was in the way
}

TEST_CASE("workers on PostgreSQL: who has given a worker back is leased it before its last unit is over") {
  leaf::test::TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  leaf::WorkerRequest request{.owner = "a"};
  SUBCASE("as any worker") {}
  SUBCASE("as the one that is asked for") {
    request.worker = 0;
  }
  const leaf::WorkerLease first = store.acquire_worker(request);
  REQUIRE(first.worker == 0);
  CHECK(store.give_up_worker(first, first.begin + 1500ms));
  CHECK_NOTHROW(store.check_lease(request));
  const leaf::WorkerLease next = store.acquire_worker(request);
  CHECK(next.worker == 0);
  CHECK(next.begin == first.begin + 1500ms);
}

TEST_CASE("workers on PostgreSQL: whatever a host's file says of the last lease, snowflakes go on") {
  AuditedWorkers fixture;
  const leaf::test::TemporaryFolder home;
  ManualClock clock;
  SnowflakeOptions options;
  options.worker = request_of("here");
  options.worker.window = 10min;
  options.worker.max_skew = 24h;  // the server's clock does not go on with this one
  options.host = leaf::HostOptions{.folder = home.path() / "run", .fetch_ahead = false};
  std::int64_t last = 0;
  // Each time more than half of a window is over, so that the next one is due.
  const auto draw = [&] {
    clock.advance(6min);
    SnowflakeGenerator generator(fixture.options(clock), options);
    const std::int64_t id = generator.next();
    CHECK(id > last);
    last = id;
    generator.fetch();
    return generator.worker();
  };
  using leaf::host::SharedState;
  using leaf::host::WorkerRecord;
  const auto rewrite = [&](const auto& change) {
    const auto file = leaf::test::state_file_in(options.host->folder);
    std::string bytes = leaf::test::read_bytes(file);
    change(bytes);
    leaf::test::write_bytes(file, bytes);
  };
  const auto set = [](std::string& bytes, std::size_t place, std::int64_t number) {
    std::memcpy(bytes.data() + place, &number, sizeof number);
  };
  constexpr std::size_t record = offsetof(SharedState, worker);
  constexpr std::size_t token = record + offsetof(WorkerRecord, token);
  constexpr std::size_t checksum = offsetof(SharedState, worker_checksum);
  CHECK(draw() == 0);
  SUBCASE("a program that notes no checksum has renewed it") {
    rewrite([&](std::string& bytes) { set(bytes, record + offsetof(WorkerRecord, begin_ms), 1); });
  }
  SUBCASE("the token is damaged, and there is no checksum") {
    rewrite([&](std::string& bytes) {
      set(bytes, checksum, 0);
      bytes[token + 3] = '?';
    });
  }
  SUBCASE("the token is cut, and there is no checksum") {
    rewrite([&](std::string& bytes) {
      set(bytes, checksum, 0);
      bytes[token + 35] = 0;
    });
  }
  SUBCASE("the worker is too high, and there is no checksum") {
    rewrite([&](std::string& bytes) {
      set(bytes, checksum, 0);
      set(bytes, record + offsetof(WorkerRecord, worker), std::int64_t{1} << 40);
    });
  }
  for (int i = 0; i < 4; ++i) CHECK_NOTHROW(draw());
  // What was noted since is renewed.
  CHECK(draw() == 1);
  CHECK(Store(fixture.options()).workers().size() == 2);
}
