#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <thread>

#include "leaf/detail/rfc3339.hpp"
#include "leaf/snowflake.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/interrupted_clock.hpp"
#include "support/slow_clock.hpp"
#include "support/sqlite_session.hpp"
#include "support/test_host.hpp"
#include "support/worker_request.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using leaf::ErrorCode;
using leaf::Layout;
using leaf::Store;
using leaf::WorkerLease;
using leaf::WorkerRequest;
using leaf::test::ClockedStore;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::error_text;
using leaf::test::InterruptedClock;
using leaf::test::proposes;
using leaf::test::request_of;
using leaf::test::SlowClock;
using leaf::test::SqliteSession;
using leaf::test::SqliteStore;

namespace {

struct LeaseFixture : ClockedStore {
  /// All that a lease may write.
  std::string tables() const {
    return SqliteSession(store.path())
        .value(
            "SELECT (SELECT json_group_array(json_array(worker_id, owner, token, window_end, renewed_at,"
            " held_after, clock_offset, grant_before)) FROM leaf_worker) ||"
            " (SELECT json_array(layout, deployment) FROM leaf_meta)");
  }
};

/// A store that takes its time, by the clock of those who ask it.
struct SlowStore {
  SlowStore() { options.clock = &clock; }

  const SqliteStore file;
  SlowClock clock;
  leaf::StoreOptions options = file.options();
};

}  // namespace

TEST_CASE_FIXTURE(SlowStore, "workers: all that a lease asks of the store takes no longer than one timeout") {
  options.timeout = 1s;
  Store store(options);
  const WorkerLease lease = store.acquire_worker(request_of("a"));
  clock.passes = 100ms;
  const auto begin = clock.now();
  CHECK(error_code([&] { store.acquire_worker(request_of("b")); }) == ErrorCode::unavailable);
  CHECK(clock.now() - begin < 2s);  // with an attempt to give up what may have been leased
  options.timeout = 3s;
  CHECK(Store(options).acquire_worker(request_of("b")).worker != lease.worker);
  clock.passes = 200ms;
  CHECK(error_code([&] { store.renew_worker(lease, request_of("a")); }) == ErrorCode::unavailable);
}

TEST_CASE_FIXTURE(SlowStore,
                  "workers: a lease that comes too late is given up, also where all calls have one end") {
  Store store(options);
  int leased = 0, held = 0;
  // Whichever question it is that comes too late.
  for (auto passes = 40ms; passes < 250ms; passes += 10ms) {
    clock.passes = 0ms;
    store.set_timeout(1s, clock.steady_now() + 1s);
    clock.passes = passes;
    const auto owner = request_of("host" + std::to_string(passes.count()));
    leased += error_code([&] { store.acquire_worker(owner); }) ? 0 : 1;
  }
  clock.passes = 0ms;
  store.set_timeout(1s);
  for (const leaf::Worker& worker : store.workers()) held += worker.leased ? 1 : 0;
  CHECK(held == leased);
  CHECK(leased < 10);
}

TEST_CASE_FIXTURE(SlowStore,
                  "workers: a lease that came too late leaves the calls after it their whole timeout") {
  options.timeout = 3s;
  Store store(options);
  int late = 0;
  // Whichever question it is that comes too late.
  for (auto passes = 105ms; passes < 400ms; passes += 5ms) {
    const auto suffix = std::to_string(passes.count());
    clock.passes = passes;
    late += error_code([&] { store.acquire_worker(request_of("late" + suffix)); }) ? 1 : 0;
    clock.passes = 100ms;
    CHECK_NOTHROW(store.acquire_worker(request_of("in-time" + suffix)));
  }
  CHECK(late > 0);
}

TEST_CASE_FIXTURE(
    SlowStore,
    "workers: all that a change of layout or range asks of the store takes no longer than one timeout") {
  options.timeout = 1s;
  Store store(options);
  const WorkerLease lease = store.acquire_worker(request_of("a"));
  clock.passes = 150ms;
  const leaf::WorkerRange range{lease.worker, lease.worker + 10};
  CHECK(error_code([&] { store.set_worker_range(range); }) == ErrorCode::unavailable);
  clock.passes = 250ms;
  CHECK(error_code([&] { store.set_layout(Layout::parse("41,2,12")); }) == ErrorCode::unavailable);
  clock.passes = 0ms;
  store.set_worker_range(range);
}

TEST_CASE(
    "workers: an owner gets its own back, else the lowest free one, else a new one, else a silent one") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.set_layout(Layout::parse("41,2,12"));  // four workers
  for (std::int64_t i = 0; i < 4; ++i)
    CHECK(store.acquire_worker(request_of("host" + std::to_string(i))).worker == i);
  CHECK(error_code([&] { store.acquire_worker(request_of("late")); }) == ErrorCode::exhausted);

  fixture.clock.advance(11min);  // all windows are over
  CHECK(store.acquire_worker(request_of("host2")).worker == 2);
  CHECK(error_code([&] { store.acquire_worker(request_of("late")); }) == ErrorCode::exhausted);
  store.recycle_worker(3, false);
  store.recycle_worker(1, false);
  CHECK(store.acquire_worker(request_of("late")).worker == 1);
  CHECK(store.acquire_worker(request_of("later")).worker == 3);
  fixture.clock.advance(61min);
  CHECK(store.acquire_worker(request_of("last")).worker == 0);  // the one that was silent for longest
}

TEST_CASE("workers: giving up what was recycled does not forget what was leased since") {
  LeaseFixture fixture;
  Store store = fixture.open();
  auto request = request_of("a");
  request.worker = 5;
  const WorkerLease old = store.acquire_worker(request);
  store.recycle_worker(5, true);
  fixture.clock.advance(11min);
  const std::string backup = fixture.store.path() + ".backup";
  SqliteSession(fixture.store.path()).run("VACUUM INTO '" + backup + "'");
  CHECK(store.acquire_worker(request).begin >= old.end);
  CHECK_FALSE(store.give_up_worker(old, old.begin));
  fs::rename(backup, fixture.store.path());
  request.owner = "b";
  CHECK(error_code([&] { store.acquire_worker(request); }) == ErrorCode::refused);
}

TEST_CASE("workers: processes of one owner have workers of their own while their windows last") {
  LeaseFixture fixture;
  Store store = fixture.open();
  const WorkerLease first = store.acquire_worker(request_of("a"));
  CHECK(store.acquire_worker(request_of("a")).worker == 1);
  fixture.clock.advance(10min - 1ms);
  CHECK(store.acquire_worker(request_of("a")).worker == 2);
  fixture.clock.advance(1ms);
  const WorkerLease after = store.acquire_worker(request_of("a"));
  CHECK(after.worker == first.worker);
  CHECK(after.begin >= first.end);
  CHECK(after.token != first.token);
}

TEST_CASE("workers: windows of one worker never overlap, renewed, given up, recycled or retaken") {
  LeaseFixture fixture;
  Store store = fixture.open();
  auto request = request_of("a");
  request.worker = 5;
  request.window = 1s;
  WorkerLease lease = store.acquire_worker(request);
  leaf::UnixTime end = lease.end;
  for (int i = 0; i < 20; ++i) {
    const WorkerLease next = store.renew_worker(lease, request);
    CHECK(next.begin >= end);
    CHECK(next.end > next.begin);
    end = next.end;
    lease = next;
  }
  CHECK(store.give_up_worker(lease, lease.begin + 1ms));
  CHECK(error_code([&] { store.renew_worker(lease, request); }) == ErrorCode::not_found);
  fixture.clock.advance(1h);
  const WorkerLease other = store.acquire_worker(request);
  CHECK(other.begin >= lease.begin + 1ms);
  store.recycle_worker(5, true);
  CHECK(error_code([&] { store.renew_worker(other, request); }) == ErrorCode::not_found);
  CHECK_FALSE(store.give_up_worker(other, other.begin));
  CHECK(store.workers().at(0).window_end == other.end);
}

TEST_CASE(
    "workers: a store put back to a copy of before leases no time again, and holds no worker for that") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.set_layout(Layout::parse("leaf"));
  const std::string backup = fixture.store.path() + ".backup";
  fs::copy_file(fixture.store.path(), backup);
  WorkerRequest request = request_of("a");
  SUBCASE("any worker") {}
  SUBCASE("a pinned one") {
    request.worker = 0;
  }
  const WorkerLease lease = store.acquire_worker(request);
  CHECK(lease.worker == 0);
  fs::copy_file(backup, fixture.store.path(), fs::copy_options::overwrite_existing);
  REQUIRE(store.workers().empty());
  CHECK(error_code([&] { store.acquire_worker(request); }) == ErrorCode::refused);
  REQUIRE(store.workers().size() == 1);
  CHECK_FALSE(store.workers().at(0).leased);
  CHECK(error_code([&] { store.acquire_worker(request); }) == ErrorCode::refused);
  CHECK(store.workers().size() == 1);
  fixture.clock.advance(lease.end - lease.begin);
  const WorkerLease next = store.acquire_worker(request);
  CHECK(next.worker == lease.worker);
  CHECK(next.begin >= lease.end);
}

TEST_CASE("workers: a store put back to before its first lease keeps the layout that this host knows of") {
  LeaseFixture fixture;
  Store store = fixture.open();
  const std::string backup = fixture.store.path() + ".backup";
  fs::copy_file(fixture.store.path(), backup);
  const Layout known = Layout::parse("cosid"), other = Layout::parse("twitter");
  store.set_layout(known);
  const auto request = request_of("a");
  const WorkerLease lease = store.acquire_worker(request);
  CHECK(lease.layout == known);
  CHECK(store.renew_worker(lease, request).layout == known);
  fs::copy_file(backup, fixture.store.path(), fs::copy_options::overwrite_existing);
  const auto is_refused = [](auto call) { return error_code(call) == ErrorCode::refused; };
  CHECK(is_refused([&] { store.set_layout(other); }));
  CHECK(is_refused([&] { store.set_layout(other, leaf::WorkerRange{0, 7}); }));
  CHECK(is_refused([&] { store.acquire_worker(request); }));
  CHECK(store.workers().empty());
  // Somebody else may have given it another one.
  fixture.open().set_layout(other);
  CHECK(is_refused([&] { store.check_layout(); }));
  CHECK(is_refused([&] { store.acquire_worker(request); }));
  CHECK(store.workers().empty());
  store.set_layout(known);
  store.check_layout();
  fixture.clock.advance(2 * request.window);
  CHECK(store.acquire_worker(request).layout == known);
}

TEST_CASE(
    "workers: a store that was put back names a worker to go on with that nobody is known to have had") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.set_layout(Layout::parse("41,2,12"));  // four workers
  const std::string backup = fixture.store.path() + ".backup";
  fs::copy_file(fixture.store.path(), backup);
  const auto put_back = [&] {
    fs::copy_file(backup, fixture.store.path(), fs::copy_options::overwrite_existing);
  };
  const auto refusal = [&] { return error_of([&] { store.acquire_worker(request_of("a")); }); };
  WorkerRequest pinned = request_of("a");
  store.acquire_worker(pinned);
  for (pinned.worker = 3; *pinned.worker > 0; --*pinned.worker) {
    put_back();
    CHECK(proposes(refusal(), {.kind = leaf::Remedy::Kind::choose_worker, .number = pinned.worker}));
    put_back();
    store.acquire_worker(pinned);  // does what it says
  }
  put_back();
  CHECK(refusal().hint() == "try again when that time has passed");
}

TEST_CASE("workers: a store that was put back names the lowest one, too, where no other is left") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.set_layout(Layout::parse("41,1,12"));  // two workers
  WorkerRequest request = request_of("a");
  request.worker = 1;
  const WorkerLease lease = store.acquire_worker(request);
  const std::string backup = fixture.store.path() + ".backup";
  fs::copy_file(fixture.store.path(), backup);
  store.renew_worker(lease, request);
  fs::copy_file(backup, fixture.store.path(), fs::copy_options::overwrite_existing);
  fixture.clock.advance(request.window);
  request.worker.reset();
  const leaf::Error refusal = error_of([&] { store.acquire_worker(request); });
  CHECK(proposes(refusal, {.kind = leaf::Remedy::Kind::choose_worker, .number = 0}));
  request.worker = 0;
  CHECK(store.acquire_worker(request).worker == 0);
}

TEST_CASE(
    "workers: where a clock was ahead, a store that was put back names a worker to go on with from now on") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.set_layout(Layout::parse("41,1,12"));  // two workers
  const std::string backup = fixture.store.path() + ".backup";
  const auto back_up = [&] {
    fs::copy_file(fixture.store.path(), backup, fs::copy_options::overwrite_existing);
  };
  const auto put_back = [&] {
    fs::copy_file(backup, fixture.store.path(), fs::copy_options::overwrite_existing);
  };
  const auto lease_ahead = [&](const WorkerRequest& request = request_of("a")) {
    fixture.clock.advance(400 * 24h);
    const WorkerLease lease = store.acquire_worker(request);
    fixture.clock.advance(-400 * 24h);
    return lease;
  };
  const auto refusal = [&] { return error_of([&] { store.acquire_worker(request_of("a")); }); };
  WorkerRequest other = request_of("a");
  other.worker = 1;
  const auto names_other = [&](const leaf::Error& error) {
    return error.hint().starts_with("a clock was ahead then; if nobody else has used worker 1 since") &&
           proposes(error, {.kind = leaf::Remedy::Kind::choose_worker, .number = other.worker});
  };
  SUBCASE("of which this host knows nothing") {
    back_up();
    CHECK(lease_ahead().worker == 0);
    put_back();
    CHECK(names_other(refusal()));
    store.acquire_worker(other);
  }
  SUBCASE("whose last window is over") {
    back_up();
    store.acquire_worker(other);
    fixture.clock.advance(other.window);
    WorkerRequest first = request_of("a");
    first.worker = 0;
    lease_ahead(first);
    put_back();
    CHECK(names_other(refusal()));
    store.acquire_worker(other);
  }
  SUBCASE("none of those that the store leases: it may lease more") {
    store.set_worker_range(leaf::WorkerRange{0, 0});
    back_up();
    lease_ahead();
    put_back();
    CHECK(proposes(refusal(), {.kind = leaf::Remedy::Kind::choose_worker_range}));
    CHECK(refusal().hint().starts_with("a clock was ahead then: wait until that time has passed, or"));
    store.set_worker_range(leaf::WorkerRange{0, 1});
    CHECK(names_other(refusal()));
    store.acquire_worker(other);
  }
  SUBCASE("none at all") {
    back_up();
    CHECK(lease_ahead().worker == 0);
    store.release_workers("a");
    CHECK(lease_ahead().worker == 1);
    put_back();
    CHECK(refusal().hint() == "try again when that time has passed");
  }
}

TEST_CASE("workers: whether a store that was put back leases a worker can be asked beforehand") {
  LeaseFixture fixture;
  Store store = fixture.open();
  const std::string backup = fixture.store.path() + ".backup";
  const auto back_up = [&] { fs::copy_file(fixture.store.path(), backup); };
  const auto put_back = [&] {
    fs::copy_file(backup, fixture.store.path(), fs::copy_options::overwrite_existing);
  };
  // Both say the same, and asking leases nothing.
  const auto is_refused = [&](const WorkerRequest& request) {
    const std::string before = fixture.tables();
    const auto asked = error_code([&] { store.check_lease(request); });
    CHECK(fixture.tables() == before);
    const auto leased = error_code([&] { store.acquire_worker(request); });
    CHECK(asked == leased);
    return leased == ErrorCode::refused;
  };
  const WorkerRequest a = request_of("a"), b = request_of("b");
  WorkerRequest pinned = a;
  pinned.worker = 3;
  SUBCASE("before its first lease") {
    back_up();
    CHECK_FALSE(is_refused(a));
    put_back();
    CHECK(is_refused(a));
    put_back();
    CHECK(is_refused(b));
    put_back();
    CHECK_FALSE(is_refused(pinned));
    put_back();
    pinned.worker = 0;
    CHECK(is_refused(pinned));
    fixture.clock.advance(a.window);
    CHECK_FALSE(is_refused(a));
  }
  SUBCASE("while a window of it is open, which leaves others") {
    const WorkerLease lease = store.acquire_worker(a);
    back_up();
    store.renew_worker(lease, a);
    put_back();
    CHECK_FALSE(is_refused(a));
    put_back();
    fixture.clock.advance(a.window);
    CHECK(is_refused(a));
  }
  SUBCASE("while the window of one that was freed is open, which leaves others") {
    store.acquire_worker(b);
    store.release_workers("b");
    back_up();
    fixture.clock.advance(a.window);
    REQUIRE(store.acquire_worker(b).worker == 0);
    fixture.clock.set_back(a.window);
    put_back();
    CHECK_FALSE(is_refused(a));
  }
  SUBCASE("where its owner holds one, and another is free") {
    store.acquire_worker(b);
    const WorkerLease lease = store.acquire_worker(a);
    store.release_workers("b");
    back_up();
    store.renew_worker(lease, a);
    fixture.clock.advance(a.window);
    put_back();
    CHECK(is_refused(a));
    CHECK_FALSE(is_refused(b));
  }
  SUBCASE("where one is free before those that are new") {
    store.acquire_worker(b);
    store.release_workers("b");
    back_up();
    fixture.clock.advance(a.window);
    store.acquire_worker(b);
    put_back();
    CHECK(is_refused(a));
  }
  SUBCASE("where only one whose owner is silent is left") {
    store.set_worker_range(leaf::WorkerRange{0, 0});
    const WorkerLease lease = store.acquire_worker(b);
    back_up();
    fixture.clock.advance(a.recycle_after);
    store.renew_worker(lease, b);
    put_back();
    CHECK(is_refused(a));
    fixture.clock.advance(a.window);
    CHECK_FALSE(is_refused(a));
  }
  SUBCASE("where its own lies outside of those that the store leases now") {
    const WorkerLease lease = store.acquire_worker(a);
    back_up();
    store.renew_worker(lease, a);
    put_back();
    fixture.clock.advance(a.window);
    store.set_worker_range(leaf::WorkerRange{1, 1});
    CHECK_FALSE(is_refused(a));
  }
  SUBCASE("where one that is free lies outside of those that the store leases now") {
    store.acquire_worker(b);
    store.release_workers("b");
    back_up();
    fixture.clock.advance(a.window);
    REQUIRE(store.acquire_worker(b).worker == 0);
    put_back();
    store.set_worker_range(leaf::WorkerRange{1, 1});
    CHECK_FALSE(is_refused(a));
  }
  SUBCASE("where the last one that the store leases is new") {
    store.set_worker_range(leaf::WorkerRange{0, 1});
    store.acquire_worker(b);
    back_up();
    store.acquire_worker(request_of("c"));
    put_back();
    CHECK(is_refused(a));
  }
  SUBCASE("where of two whose owners are silent one is for longer") {
    store.set_worker_range(leaf::WorkerRange{0, 1});
    const WorkerLease longer = store.acquire_worker(b);
    fixture.clock.advance(a.window);
    store.acquire_worker(request_of("c"));
    back_up();
    fixture.clock.advance(2 * a.recycle_after);
    store.renew_worker(longer, b);
    put_back();
    CHECK(is_refused(a));
  }
  SUBCASE("where the owner of the only one is not silent for long enough") {
    store.set_worker_range(leaf::WorkerRange{0, 0});
    const WorkerLease lease = store.acquire_worker(b);
    back_up();
    store.renew_worker(lease, b);
    put_back();
    fixture.clock.advance(a.window);
    CHECK_FALSE(is_refused(a));
    CHECK(error_code([&] { store.check_lease(a); }) == ErrorCode::exhausted);
  }
  SUBCASE("where all are taken") {
    store.set_worker_range(leaf::WorkerRange{0, 0});
    const WorkerLease lease = store.acquire_worker(b);
    CHECK_FALSE(is_refused(a));
    CHECK(error_code([&] { store.check_lease(a); }) == ErrorCode::exhausted);
    fixture.clock.advance(lease.end - fixture.clock.now());
    CHECK_FALSE(is_refused(b));
  }
}

TEST_CASE("workers: whether a worker can be had can be asked beforehand, and leases nothing") {
  LeaseFixture fixture;
  Store store = fixture.open();
  // The error's text as of a lease, and none for who has one.
  const auto reason = [&](const WorkerRequest& request) {
    const std::string before = fixture.tables();
    const std::string asked = error_text([&] { store.check_lease(request); });
    CHECK(error_text([&] { store.check_lease(request, true); }).empty());
    CHECK(fixture.tables() == before);
    CHECK(error_text([&] { store.acquire_worker(request); }) == asked);
    return asked;
  };
  const WorkerRequest pinned = request_of("a", 5);
  const std::string not_free = "worker 5 is held by another owner, or its window is not over";
  SUBCASE("one that is pinned, and another owner's until that is silent for long") {
    CHECK(reason(pinned).empty());
    CHECK(reason(pinned).starts_with(not_free));
    fixture.clock.advance(pinned.window);
    CHECK(reason(request_of("b", 5)).starts_with(not_free));
    CHECK(reason(pinned).empty());
    fixture.clock.advance(pinned.recycle_after - 1ms);
    CHECK(reason(request_of("b", 5)).starts_with(not_free));
    fixture.clock.advance(1ms);
    CHECK(reason(request_of("b", 5)).empty());
  }
  SUBCASE("one that is pinned and free, but whose window is not over") {
    store.acquire_worker(pinned);
    store.release_workers("a");
    CHECK(reason(request_of("b", 5)).starts_with(not_free));
    fixture.clock.advance(pinned.window);
    CHECK(reason(request_of("b", 5)).empty());
  }
  SUBCASE("one that is pinned and was leased while a clock was ahead") {
    fixture.clock.advance(48h);
    store.acquire_worker(pinned);
    fixture.clock.advance(-48h);
    CHECK(reason(pinned).starts_with("the clock is behind the time that worker 5 was leased for"));
  }
  SUBCASE("one outside of the store's range, or of the layout's") {
    store.set_worker_range(leaf::WorkerRange{0, 4});
    CHECK(reason(pinned).starts_with("this store does not lease worker 5"));
    CHECK(reason(request_of("a", 4)).empty());
    CHECK(reason(request_of("a", 1024)).find("1024") != std::string::npos);
  }
  SUBCASE("for an owner or in a layout that is none") {
    CHECK_FALSE(reason(request_of("a b")).empty());
    WorkerRequest other = request_of("a");
    other.layout = Layout::parse("41,2,12");
    CHECK(reason(other).starts_with("the store's layout is"));
  }
  SUBCASE("where its owner's are the only ones, and their windows are not over") {
    store.set_worker_range(leaf::WorkerRange{0, 0});
    CHECK(reason(request_of("a")).empty());
    CHECK(reason(request_of("a")).starts_with("all 1 workers"));
    fixture.clock.advance(pinned.window);
    CHECK(reason(request_of("a")).empty());
  }
  SUBCASE("for a window that is too short for the layout's unit, as a generator says") {
    store.set_layout(Layout::parse("41,10,12/10m"));
    WorkerRequest shorter = request_of("a");
    shorter.window = 19min;
    CHECK(error_text([&] { store.check_lease(shorter); }) ==
          error_text([&] { leaf::SnowflakeGenerator(fixture.store_options(), {.worker = shorter}); }));
    CHECK(error_code([&] { store.check_lease(shorter); }) == ErrorCode::usage);
    store.check_lease(shorter, true);
    shorter.window = 20min;
    store.check_lease(shorter);
  }
  SUBCASE("for a window that a generator makes as long as the layout needs") {
    store.set_layout(Layout::parse("41,10,12/1s"));
    WorkerRequest shorter = request_of("a");
    shorter.window = 10ms;
    store.check_lease(shorter);
  }
}

TEST_CASE("workers: a lease that a store put back takes for good again gets no time of one that came later") {
  LeaseFixture fixture;
  Store store = fixture.open();
  const std::string backup = fixture.store.path() + ".backup";
  const auto put_back = [&] {
    fs::copy_file(backup, fixture.store.path(), fs::copy_options::overwrite_existing);
  };
  const WorkerLease former = store.acquire_worker(request_of("a"));
  fs::copy_file(fixture.store.path(), backup);
  fixture.clock.advance(former.end - former.begin);
  SUBCASE("the same owner's") {
    WorkerRequest later = request_of("a");
    later.worker = former.worker;
    store.acquire_worker(later);
  }
  SUBCASE("another owner's") {
    store.release_workers("a");
    CHECK(store.acquire_worker(request_of("b")).worker == former.worker);
  }
  put_back();
  CHECK(error_code([&] { store.renew_worker(former, request_of("a")); }) == ErrorCode::refused);
  // Nor does giving it up make room for others there.
  CHECK(store.give_up_worker(former, former.begin));
  put_back();
  CHECK(error_code([&] { store.renew_worker(former, request_of("a")); }) == ErrorCode::refused);
  fixture.clock.advance(2 * (former.end - former.begin));
  CHECK(store.renew_worker(former, request_of("a")).begin >= former.end + (former.end - former.begin));
}

TEST_CASE("workers: a renewal whose answer was lost is repeated without losing the time in between") {
  LeaseFixture fixture;
  Store store = fixture.open();
  const auto request = request_of("a");
  const WorkerLease lease = store.acquire_worker(request);
  store.renew_worker(lease, request);  // its answer got lost
  fixture.clock.advance(1s);
  const WorkerLease again = store.renew_worker(lease, request);
  CHECK(again.begin == lease.end);
  CHECK(again.end >= lease.end + request.window);
}

TEST_CASE("workers: a copy of the store renews no lease of the original") {
  LeaseFixture fixture;
  Store store = fixture.open();
  const auto request = request_of("a");
  const WorkerLease lease = store.acquire_worker(request);
  auto options = fixture.store_options();
  options.url += ".copy";
  fs::copy_file(fixture.store.path(), fixture.store.path() + ".copy");
  CHECK(error_code([&] { Store(options).renew_worker(lease, request); }) == ErrorCode::unavailable);
  CHECK(store.renew_worker(lease, request).begin == lease.end);
}

TEST_CASE("workers: a clock behind what this owner was leased is refused, and others are not") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.acquire_worker(request_of("a"));
  fixture.clock.set_back(5s);
  CHECK(store.acquire_worker(request_of("a")).worker == 1);
  fixture.clock.set_back(1ms);
  CHECK(error_text([&] {
          store.acquire_worker(request_of("a"));
        }).starts_with("the clock is 5001ms behind an earlier grant to 'a'"));
  CHECK(store.acquire_worker(request_of("b")).worker == 2);
  auto tolerant = request_of("a");
  tolerant.max_skew = 1min;
  CHECK(store.acquire_worker(tolerant).worker == 3);
}

TEST_CASE(
    "workers: what a clock far ahead was leased keeps nobody else, and its owner only until it is released") {
  LeaseFixture fixture;
  Store store = fixture.open();
  fixture.clock.set_back(-400 * 24h);
  const WorkerLease ahead = store.acquire_worker(request_of("a"));
  fixture.clock.set_back(400 * 24h);
  CHECK(store.acquire_worker(request_of("b")).worker == 1);
  CHECK(error_code([&] { store.acquire_worker(request_of("a")); }) == ErrorCode::refused);
  CHECK(error_code([&] { store.renew_worker(ahead, request_of("a")); }) == ErrorCode::refused);
  CHECK(store.release_workers("a") == std::vector<std::int64_t>{0});
  const WorkerLease now = store.acquire_worker(request_of("a"));
  CHECK(now.worker == 2);
  CHECK(now.begin == std::chrono::floor<std::chrono::milliseconds>(fixture.clock.now()));
  CHECK(store.workers().at(0).window_end == ahead.end);
}

TEST_CASE("workers: a renewal begins no earlier than it is asked for") {
  LeaseFixture fixture;
  Store store = fixture.open();
  WorkerRequest request = request_of("a");
  const WorkerLease lease = store.acquire_worker(request);
  request.not_before = lease.end + 1min;
  const WorkerLease next = store.renew_worker(lease, request);
  CHECK(next.begin == request.not_before);
  CHECK(next.end == next.begin + request.window);
}

TEST_CASE("workers: who has given up two is leased no time before the end of either") {
  LeaseFixture fixture;
  Store store = fixture.open();
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

TEST_CASE("workers: a window begins behind what may be buffered, which is two windows, and no later") {
  LeaseFixture fixture;
  Store store = fixture.open();
  const auto lease_at = [&](const std::string& owner, std::chrono::milliseconds window,
                            std::chrono::milliseconds ahead) {
    WorkerRequest request = request_of(owner);
    request.window = window;
    request.not_before = std::chrono::floor<std::chrono::milliseconds>(fixture.clock.now()) + ahead;
    return store.acquire_worker(request).begin == request.not_before;
  };
  CHECK(lease_at("a", 10min, 48h));
  CHECK(lease_at("b", 36h, 72h));
  CHECK(error_code([&] { lease_at("c", 10min, 48h + 1ms); }) == ErrorCode::refused);
  CHECK(error_code([&] { lease_at("d", 36h, 72h + 1ms); }) == ErrorCode::refused);
}

TEST_CASE("workers: a lease that is refused writes nothing") {
  LeaseFixture fixture;
  Store store = fixture.open();
  WorkerRequest request = request_of("a");
  WorkerLease lease{};
  auto code = ErrorCode::refused;
  SUBCASE("behind a grant") {
    lease = store.acquire_worker(request);
    fixture.clock.set_back(1h);
  }
  SUBCASE("behind what was given up") {
    lease = store.acquire_worker(request);
    CHECK(store.give_up_worker(lease, lease.begin + 9min));
    fixture.clock.advance(5min);
  }
  SUBCASE("past the last bit") {
    store.set_layout(Layout::parse("leaf"));
    lease = store.acquire_worker(request);
    fixture.clock.set_back(-24h * 365 * 64);
    code = ErrorCode::exhausted;
  }
  SUBCASE("before the epoch") {
    store.set_layout(Layout::parse("leaf@1500000000000"));
    fixture.clock.set_back(fixture.clock.now() - leaf::UnixTime(1499999999999ms));
    code = ErrorCode::exhausted;
  }
  SUBCASE("before 1970") {
    store.set_layout(Layout::parse("leaf"));
    fixture.clock.set_back(fixture.clock.now() + 70 * 24h * 365 - leaf::UnixTime{});
    code = ErrorCode::exhausted;
  }
  SUBCASE("before the epoch, and a grant") {
    store.set_layout(Layout::parse("leaf@1500000000000"));
    lease = store.acquire_worker(request);
    fixture.clock.set_back(fixture.clock.now() - leaf::UnixTime(1499999999999ms));
  }
  SUBCASE("past the last bit, of a first host") {
    fixture.clock.set_back(-24h * 365 * 64);
    code = ErrorCode::exhausted;
  }
  SUBCASE("behind a buffer of a time far ahead") {
    request.not_before = std::chrono::floor<std::chrono::milliseconds>(fixture.clock.now() + 400 * 24h);
  }
  const std::string before = fixture.tables();
  const auto refuse = [&](const WorkerRequest& refused) {
    CAPTURE(refused.worker.value_or(-1));
    CHECK(error_code([&] { store.acquire_worker(refused); }) == code);
    CHECK(fixture.tables() == before);
  };
  refuse(request);
  for (const std::int64_t worker : {0, 7}) {
    request.worker = worker;
    refuse(request);
  }
  if (lease.token.empty() || !store.workers().at(0).leased) return;
  CHECK(error_code([&] { store.renew_worker(lease, request); }) == code);
  CHECK(fixture.tables() == before);
}

TEST_CASE("workers: a clock that is a little behind what was made takes no worker with each try") {
  LeaseFixture fixture;
  Store store = fixture.open();
  const WorkerLease lease = store.acquire_worker(request_of("a"));
  CHECK(store.give_up_worker(lease, lease.begin + 1ms));
  fixture.clock.set_back(4s);
  for (int i = 0; i < 3; ++i)
    CHECK(error_code([&] { store.acquire_worker(request_of("a")); }) == ErrorCode::refused);
  CHECK(store.workers().size() == 1);
  fixture.clock.advance(2s);
  CHECK(store.acquire_worker(request_of("a")).begin == lease.begin + 1ms);
}

TEST_CASE("workers: a pinned one that a clock far ahead was leased says until when, and what to do") {
  LeaseFixture fixture;
  Store store = fixture.open();
  auto request = request_of("a");
  request.worker = 5;
  fixture.clock.set_back(-400 * 24h);
  const auto end = store.acquire_worker(request).end;
  fixture.clock.set_back(400 * 24h);
  for (const char* owner : {"a", "b"}) {
    request.owner = owner;
    const leaf::Error error = error_of([&] { store.acquire_worker(request); });
    CHECK(error.code() == ErrorCode::refused);
    CHECK(std::string(error.what())
              .starts_with("the clock is behind the time that worker 5 was leased for, until 20"));
    CHECK(proposes(error, {.kind = leaf::Remedy::Kind::choose_worker}));
    CHECK(proposes(error, {.kind = leaf::Remedy::Kind::release_workers, .name = "a"}) ==
          (request.owner == "a"));
  }
  // As the hint says.
  store.release_workers("a");
  request.worker = 6;
  for (const char* owner : {"a", "b"}) {
    request.owner = owner;
    CHECK(store.acquire_worker(request).worker == *request.worker);
    ++*request.worker;
  }
  CHECK(store.workers().at(0).window_end == end);
}

TEST_CASE("workers: where all were leased while a clock was ahead, the error says so and until when") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.set_layout(Layout::parse("41,2,12"));
  fixture.clock.set_back(-400 * 24h);
  for (const char* owner : {"a", "b"}) store.acquire_worker(request_of(owner));
  fixture.clock.set_back(400 * 24h);
  for (const char* owner : {"c", "d"}) store.acquire_worker(request_of(owner));
  const leaf::Error error = error_of([&] { store.acquire_worker(request_of("e")); });
  CHECK(std::string(error.what())
            .starts_with("all 4 workers are taken, 2 of them because a clock was ahead: the first until 20"));
  CHECK(error.hint() == "free those of the others whose holder is gone");
  // As the hint says, when the window of such a one is over.
  fixture.clock.advance(11min);
  store.recycle_worker(3, /*force=*/false);
  CHECK(store.acquire_worker(request_of("e")).worker == 3);
}

TEST_CASE(
    "workers: where one was leased while a clock was ahead, and others were freed, those are waited for") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.set_layout(Layout::parse("41,2,12"));
  fixture.clock.set_back(-400 * 24h);
  store.acquire_worker(request_of("a"));
  fixture.clock.set_back(400 * 24h);
  for (const char* owner : {"b", "c", "d"}) store.acquire_worker(request_of(owner));
  store.recycle_worker(1, /*force=*/true);
  const auto hint = [&] { return error_of([&] { store.acquire_worker(request_of("e")); }).hint(); };
  const std::string first = leaf::detail::format_rfc3339(store.workers().at(1).window_end);
  CHECK(hint() == "wait until " + first +
                      " at the latest, when the window of one that was freed is over; or free one whose "
                      "holder is gone");
  for (std::int64_t worker : {2, 3}) store.recycle_worker(worker, /*force=*/true);
  CHECK(hint() == "try again at " + first + ", when the window of the first one is over");
  fixture.clock.advance(11min);
  CHECK(store.acquire_worker(request_of("e")).worker == 1);
}

TEST_CASE("workers: where a clock that was ahead had all of them, freeing one is of no use") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.set_layout(Layout::parse("41,2,12"));
  fixture.clock.set_back(-24h);
  for (const char* owner : {"a", "b", "c", "d"}) store.acquire_worker(request_of(owner));
  fixture.clock.set_back(24h);
  CHECK(error_of([&] { store.acquire_worker(request_of("e")); }).hint() == "wait until then");
  fixture.clock.advance(24h + 10min);
  store.recycle_worker(2, /*force=*/false);
  CHECK(store.acquire_worker(request_of("e")).worker == 2);
}

TEST_CASE("workers: where a clock that was ahead had some, and the others were freed, those are waited for") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.set_layout(Layout::parse("41,1,12"));
  fixture.clock.set_back(-24h);
  store.acquire_worker(request_of("a"));
  fixture.clock.set_back(24h);
  store.release_workers("a");
  store.acquire_worker(request_of("a"));
  store.release_workers("a");
  CHECK(error_of([&] { store.acquire_worker(request_of("e")); }).hint().starts_with("try again at "));
  fixture.clock.advance(11min);
  CHECK(store.acquire_worker(request_of("e")).worker == 1);
}

TEST_CASE("workers: where a clock that was ahead had all that a store leases, it may lease more") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.set_worker_range(leaf::WorkerRange{0, 1});
  fixture.clock.set_back(-24h);
  store.acquire_worker(request_of("a"));
  std::string hint =
      "free those of the others whose holder is gone, or have the store lease more workers, none of "
      "which another store leases";
  SUBCASE("one") {
    fixture.clock.set_back(24h);
    store.acquire_worker(request_of("b"));
  }
  SUBCASE("both") {
    store.acquire_worker(request_of("b"));
    fixture.clock.set_back(24h);
    hint = "wait until then, or have the store lease more workers, none of which another store leases";
  }
  CHECK(error_of([&] { store.acquire_worker(request_of("e")); }).hint() == hint);
  store.set_worker_range(leaf::WorkerRange{0, 2});
  CHECK(store.acquire_worker(request_of("e")).worker == 2);
}

TEST_CASE("workers: one that will be free within the timeout is waited for, by who wants that") {
  LeaseFixture fixture;
  Store store = fixture.open();
  const WorkerRequest pinned = request_of("a", 5);
  const WorkerLease first = store.acquire_worker(pinned);
  WorkerRequest taker = request_of("b", 5);
  auto until = first.end;
  SUBCASE("that was freed") {
    store.release_workers("a");
    SUBCASE("and is asked for") {}
    SUBCASE("where all others are taken") {
      store.set_worker_range(leaf::WorkerRange{5, 5});
      taker.worker.reset();
    }
  }
  SUBCASE("that was its owner's own") {
    taker.owner = "a";
  }
  SUBCASE("whose owner will have been silent for long enough") {
    until = first.begin + taker.recycle_after;
  }
  fixture.clock.advance(until - first.begin - 4s);
  const auto begin = fixture.clock.steady_now();
  for (const auto timeout : {0s, 4s, 5s}) {
    store.set_timeout(timeout);
    CHECK(error_code([&] { store.acquire_worker(taker); }).has_value());
    CHECK(error_text([&] { store.acquire_worker(taker); }) == error_text([&] { store.check_lease(taker); }));
    if (timeout < 5s) CHECK(error_code([&] { store.await_worker(taker); }).has_value());
  }
  CHECK(fixture.clock.steady_now() == begin);
  CHECK(store.await_worker(taker).begin == until);
  CHECK(fixture.clock.steady_now() - begin < 5s);
}

TEST_CASE("workers: one that is not asked for, or not leased by this store, is not waited for") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.acquire_worker(request_of("a"));
  store.release_workers("a");
  fixture.clock.advance(request_of("a").window - 2s);
  store.acquire_worker(request_of("a", 5));
  const auto begin = fixture.clock.now();
  CHECK(error_code([&] { store.await_worker(request_of("b", 5)); }) == ErrorCode::refused);
  CHECK(fixture.clock.now() == begin);
  fixture.clock.advance(2s);  // until it may be left out
  store.set_worker_range(leaf::WorkerRange{5, 5});
  fixture.clock.set_back(2s);
  CHECK(error_code([&] { store.await_worker(request_of("b")); }) == ErrorCode::exhausted);
  CHECK(fixture.clock.now() == begin);
}

TEST_CASE("workers: one that its holder renews while it is waited for stays that holder's") {
  InterruptedClock clock;
  const SqliteStore file;
  leaf::StoreOptions options = file.options();
  options.clock = &clock;
  options.timeout = 5s;
  Store store(options);
  const WorkerLease held = store.acquire_worker(request_of("a", 5));
  clock.advance(request_of("a").window - 4s);
  WorkerRequest taker = request_of("b", 5);
  taker.recycle_after = 1s;
  bool was_interrupted = false;
  clock.interruption = [&] {
    was_interrupted = true;
    Store(options).renew_worker(held, request_of("a"));
  };
  CHECK(error_code([&] { store.await_worker(taker); }) == ErrorCode::refused);
  CHECK(was_interrupted);
  CHECK(store.workers().at(0).owner == "a");
}

TEST_CASE("workers: only silent ones are recycled in one go") {
  LeaseFixture fixture;
  Store store = fixture.open();
  store.acquire_worker(request_of("a"));
  store.acquire_worker(request_of("b"));
  fixture.clock.advance(59min);
  store.acquire_worker(request_of("b"));
  CHECK(store.recycle_silent_workers(1h).empty());
  fixture.clock.advance(2min);
  CHECK(store.recycle_silent_workers(1h) == std::vector<std::int64_t>{0});
  CHECK(error_code([&] { store.recycle_worker(0, false); }) == ErrorCode::not_found);
  CHECK(error_code([&] { store.recycle_worker(77, true); }) == ErrorCode::not_found);
}

TEST_CASE("workers: a layout may be chosen until the first worker was acquired") {
  LeaseFixture fixture;
  Store store = fixture.open();
  CHECK(store.layout() == Layout::parse("leaf"));
  store.set_layout(Layout::parse("baidu"));
  store.set_layout(Layout::parse("cosid"));
  CHECK(store.layout() == Layout::parse("cosid"));
  store.acquire_worker(request_of("a"));
  store.set_layout(Layout::parse("cosid"));
  CHECK(error_code([&] { store.set_layout(Layout::parse("leaf")); }) == ErrorCode::usage);
  CHECK(store.layout() == Layout::parse("cosid"));
}

TEST_CASE("workers: a layout in which no time can be leased is refused") {
  LeaseFixture fixture;
  Store store = fixture.open();
  const Layout narrow = Layout::parse("1,62");
  CHECK(error_code([&] { store.set_layout(narrow); }) == ErrorCode::usage);
  CHECK(error_code([&] { store.set_layout(narrow, std::nullopt); }) == ErrorCode::usage);
  CHECK(store.layout() == Layout::parse("leaf"));
}

TEST_CASE("workers: one that is leased keeps its number, whoever changes the file") {
  LeaseFixture fixture;
  Store store = fixture.open();
  REQUIRE(store.acquire_worker(request_of("a")).worker == 0);
  // Number 0 would be free then, and leased anew in the same window.
  CHECK_FALSE(SqliteSession(fixture.store.path()).run("UPDATE leaf_worker SET worker_id = 9"));
  CHECK(store.acquire_worker(request_of("b")).worker == 1);
}

TEST_CASE("workers: names, numbers and durations out of bounds are refused") {
  LeaseFixture fixture;
  Store store = fixture.open();
  CHECK(error_code([&] { store.acquire_worker(request_of("")); }) == ErrorCode::usage);
  CHECK(error_code([&] { store.acquire_worker(request_of("a b")); }) == ErrorCode::usage);
  CHECK(error_code([&] { store.acquire_worker(request_of("a\nb")); }) == ErrorCode::usage);
  CHECK(error_code([&] { store.acquire_worker(request_of(std::string(256, 'a'))); }) == ErrorCode::usage);
  auto request = request_of("a");
  request.worker = 1024;
  CHECK(error_code([&] { store.acquire_worker(request); }) == ErrorCode::usage);
  request = request_of("a");
  request.window = 0ms;
  CHECK(error_code([&] { store.acquire_worker(request); }) == ErrorCode::usage);
  CHECK(store.workers().empty());
  CHECK_NOTHROW(store.acquire_worker(request_of("a")));  // as the hint of a name says
}

TEST_CASE("workers: 24 claimants at once on 16 workers get 16 different ones, and the others are told so") {
  SqliteStore file;
  Store(file.options()).set_layout(Layout::parse("time:41,worker:4,sequence:12"));  // 16 workers
  std::mutex mutex;
  std::set<std::int64_t> workers;
  int exhausted = 0;
  {
    std::vector<std::jthread> claimants;
    for (int i = 0; i < 24; ++i) {
      claimants.emplace_back([&, i] {
        Store store(file.options());
        try {
          const auto worker = store.acquire_worker(request_of("host" + std::to_string(i))).worker;
          const std::lock_guard lock(mutex);
          CHECK(workers.insert(worker).second);
        } catch (const leaf::Error& error) {
          const std::lock_guard lock(mutex);
          CHECK(error.code() == ErrorCode::exhausted);
          ++exhausted;
        }
      });
    }
  }
  CHECK(workers.size() == 16);
  CHECK(exhausted == 8);
}

TEST_CASE("workers: an owner releases all it holds or one of them, and not another's") {
  LeaseFixture fixture;
  Store store = fixture.open();
  for (int i = 0; i < 2; ++i) store.acquire_worker(request_of("a"));
  store.acquire_worker(request_of("b"));
  CHECK(error_code([&] { store.release_workers("a", 2); }) == ErrorCode::refused);
  CHECK(error_code([&] { store.release_workers("a", 9); }) == ErrorCode::not_found);
  CHECK(store.release_workers("a", 1) == std::vector<std::int64_t>{1});
  const auto end = store.workers().at(1).window_end;
  CHECK(store.release_workers("a") == std::vector<std::int64_t>{0});
  CHECK(store.release_workers("a").empty());
  CHECK(store.workers().at(2).owner == "b");
  fixture.clock.advance(11min);
  CHECK(store.acquire_worker(request_of("c")).begin >= end);
}
