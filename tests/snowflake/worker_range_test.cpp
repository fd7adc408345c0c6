#include <doctest/doctest.h>

#include <functional>
#include <optional>

#include "leaf/snowflake.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/sqlite_session.hpp"
#include "support/test_host.hpp"
#include "support/worker_request.hpp"

using namespace std::chrono_literals;
using leaf::ErrorCode;
using leaf::Layout;
using leaf::Store;
using leaf::WorkerLease;
using leaf::WorkerRange;
using leaf::test::ClockedStore;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::error_text;
using leaf::test::proposes;
using leaf::test::request_of;
using leaf::test::SqliteSession;
using leaf::test::SqliteStore;

namespace {

/// A store of eight workers.
struct EightWorkerStore : ClockedStore {
  EightWorkerStore() { open().set_layout(Layout::parse("41,3,12")); }
};

/// Does something when it is looked at for the nth time.
class HookedClock final : public leaf::Clock {
 public:
  HookedClock(int nth, std::function<void()> hook) : left_(nth), hook_(std::move(hook)) {}
  bool has_come() const { return left_ <= 0; }

  std::chrono::steady_clock::time_point steady_now() override {
    look();
    return real().steady_now();
  }
  std::chrono::system_clock::time_point now() override {
    look();
    return real().now();
  }
  void sleep_for(std::chrono::nanoseconds duration) override { real().sleep_for(duration); }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  std::chrono::steady_clock::time_point deadline) override {
    real().wait_until(lock, changed, deadline);
  }

 private:
  void look() {
    if (--left_ == 0) hook_();
  }

  int left_;
  const std::function<void()> hook_;
};

}  // namespace

TEST_CASE("worker range: a store leases all of it and nothing else") {
  EightWorkerStore fixture;
  Store store = fixture.open();
  CHECK(store.worker_range() == WorkerRange{0, 7});
  store.set_worker_range(WorkerRange{2, 4});
  CHECK(store.worker_range() == WorkerRange{2, 4});
  CHECK(store.acquire_worker(request_of("pinned", 3)).worker == 3);
  CHECK(store.acquire_worker(request_of("a")).worker == 2);
  CHECK(store.acquire_worker(request_of("b")).worker == 4);
  CHECK(error_of([&] { store.acquire_worker(request_of("c")); }).code() == ErrorCode::exhausted);
  CHECK(error_text([&] {
          store.acquire_worker(request_of("c"));
        }).starts_with("all 3 workers that this store leases, 2 to 4, are taken | "));
  for (const std::int64_t outside : {1, 5}) {
    const leaf::Error error = error_of([&] { store.acquire_worker(request_of("c", outside)); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.hint() == "choose one from 2 to 4, or leave the choice to the store");
    CHECK(proposes(error, {.kind = leaf::Remedy::Kind::choose_worker}));
  }
  CHECK(store.workers().size() == 3);
}

TEST_CASE("worker range: a worker whose number is cut where it is kept is leased to nobody") {
  ClockedStore fixture;
  Store store = fixture.open();
  store.set_layout(Layout::parse("time:28,worker:33,sequence:2/1s@1700000000000"));
  constexpr std::int64_t last = INT32_MAX;
  CHECK(store.worker_range() == WorkerRange{0, last});
  for (const std::int64_t outside : {last + 1, (std::int64_t{1} << 32) + 13}) {
    CHECK(error_code([&] { store.acquire_worker(request_of("a", outside)); }) == ErrorCode::usage);
    CHECK(error_code([&] { store.set_worker_range(WorkerRange{outside, outside + 9}); }) == ErrorCode::usage);
  }
  CHECK(store.acquire_worker(request_of("a", last)).worker == last);
}

TEST_CASE("worker range: what is free, one's own or silent outside is nobody's") {
  EightWorkerStore fixture;
  Store store = fixture.open();
  for (const std::int64_t worker : {0, 1, 6, 7}) store.acquire_worker(request_of("a", worker));
  fixture.clock.advance(2h);
  store.recycle_worker(1, false);
  store.recycle_worker(6, false);
  store.set_worker_range(WorkerRange{2, 5});
  for (std::int64_t worker = 2; worker <= 5; ++worker)
    CHECK(store.acquire_worker(request_of("a")).worker == worker);
  CHECK(error_code([&] { store.acquire_worker(request_of("a")); }) == ErrorCode::exhausted);
  for (const leaf::Worker& worker : store.workers())
    CHECK(worker.in_range == (worker.id >= 2 && worker.id <= 5));
  store.set_worker_range({});
  CHECK(store.acquire_worker(request_of("a")).worker == 0);
  CHECK(store.acquire_worker(request_of("b")).worker == 1);
}

TEST_CASE("worker range: a free worker outside is not in the way of one inside, nor is a silent one") {
  EightWorkerStore fixture;
  Store store = fixture.open();
  SUBCASE("free") {
    for (const std::int64_t worker : {1, 3}) store.acquire_worker(request_of("a", worker));
    fixture.clock.advance(11min);
    for (const std::int64_t worker : {1, 3}) store.recycle_worker(worker, false);
  }
  SUBCASE("silent") {
    store.acquire_worker(request_of("a", 7));
    fixture.clock.advance(1min);
    store.acquire_worker(request_of("b", 3));
    fixture.clock.advance(2h);
  }
  store.set_worker_range(WorkerRange{3, 3});
  CHECK(store.acquire_worker(request_of("c")).worker == 3);
}

TEST_CASE("worker range: it is refused while a worker outside is leased, and names it and until when") {
  EightWorkerStore fixture;
  Store store = fixture.open();
  const WorkerLease lease = store.acquire_worker(request_of("a", 6));
  store.acquire_worker(request_of("b", 2));
  const leaf::Error error = error_of([&] { store.set_worker_range(WorkerRange{0, 5}); });
  CHECK(error.code() == ErrorCode::refused);
  CHECK(std::string(error.what()).starts_with("workers outside of 0 to 5 are leased: 6 ('a') until 20"));
  CHECK(store.worker_range() == WorkerRange{0, 7});
  // Freed is not over.
  store.recycle_worker(6, true);
  CHECK(error_text([&] {
          store.set_worker_range(WorkerRange{0, 5});
        }).find("6 (free) until") != std::string::npos);
  fixture.clock.advance(10min - 1ms);
  CHECK(error_code([&] { store.set_worker_range(WorkerRange{0, 5}); }) == ErrorCode::refused);
  fixture.clock.advance(lease.end - std::chrono::floor<std::chrono::milliseconds>(fixture.clock.now()));
  store.set_worker_range(WorkerRange{0, 5});
  CHECK(store.worker_range() == WorkerRange{0, 5});
}

TEST_CASE("worker range: a worker that is leased at any moment of the change keeps it from coming about") {
  int refused = 0;
  for (int nth = 1;; ++nth) {
    EightWorkerStore fixture;
    bool is_leased = false;
    // Nobody leases in the transaction that sets the range, nor that worker after it.
    HookedClock clock(nth, [&] {
      is_leased = error_code([&] { fixture.open().acquire_worker(request_of("a", 6)); }) == std::nullopt;
    });
    auto options = fixture.store.options();
    options.clock = &clock;
    Store store(options);
    const auto code = error_code([&] { store.set_worker_range(WorkerRange{0, 5}); });
    if (!clock.has_come()) break;
    CAPTURE(nth);
    CHECK((code == ErrorCode::refused) == is_leased);
    CHECK(store.worker_range() == (is_leased ? WorkerRange{0, 7} : WorkerRange{0, 5}));
    if (is_leased) ++refused;
  }
  CHECK(refused >= 2);
}

TEST_CASE(
    "worker range: a lease outside that is over is not renewed, and its generator takes another worker") {
  EightWorkerStore fixture;
  Store store = fixture.open();
  const WorkerLease lease = store.acquire_worker(request_of("a", 6));
  auto options = fixture.store.options();
  options.clock = &fixture.clock;
  leaf::SnowflakeOptions snowflake;
  snowflake.worker = request_of("g");
  snowflake.worker.worker = {};
  for (std::int64_t worker = 0; worker < 6; ++worker) store.acquire_worker(request_of("other", worker));
  leaf::SnowflakeGenerator generator(options, snowflake);
  const std::int64_t before = generator.next();
  CHECK(generator.worker() == 7);
  fixture.clock.advance(1h);
  store.set_worker_range(WorkerRange{0, 5});
  CHECK(error_code([&] { store.renew_worker(lease, request_of("a")); }) == ErrorCode::not_found);
  store.recycle_worker(3, false);
  CHECK(generator.next() > before);
  CHECK(generator.worker() == 3);
}

TEST_CASE("worker range: programs that know nothing of it keep within, and are refused a new one") {
  EightWorkerStore fixture;
  Store store = fixture.open();
  store.acquire_worker(request_of("a", 6));
  fixture.clock.advance(1h);
  store.set_worker_range(WorkerRange{0, 5});
  SqliteSession session(fixture.store.path());
  const std::string before = session.value("SELECT window_end FROM leaf_worker");
  CHECK(session.run("UPDATE leaf_worker SET window_end = window_end + 1"));
  CHECK(session.value("SELECT window_end FROM leaf_worker") == before);
  const auto insert = [&](int worker) {
    return session.run(
        "INSERT INTO leaf_worker (worker_id, window_end, renewed_at, held_after, clock_offset) VALUES (" +
        std::to_string(worker) + ", 0, 0, 0, 0)");
  };
  CHECK_FALSE(insert(7));
  CHECK(insert(5));
  CHECK(session.run("UPDATE leaf_worker SET window_end = window_end + 1 WHERE worker_id = 5"));
  CHECK(session.value("SELECT window_end FROM leaf_worker WHERE worker_id = 5") == "1");
}

TEST_CASE("worker range: with a layout both are set or neither") {
  EightWorkerStore fixture;
  Store store = fixture.open();
  const Layout own = store.layout();  // of eight workers
  store.set_layout(Layout::parse("43,4,16"), WorkerRange{8, 15});
  CHECK(store.worker_range() == WorkerRange{8, 15});
  store.set_layout(own, WorkerRange{2, 5});
  CHECK(store.layout() == own);
  CHECK(store.worker_range() == WorkerRange{2, 5});
  CHECK(error_code([&] {
          store.set_layout(Layout::parse("43,4,16"), WorkerRange{0, 16});
        }) == ErrorCode::usage);
  store.set_layout(own, std::nullopt);
  store.acquire_worker(request_of("a"));
  fixture.clock.advance(1h);
  for (const char* other : {"43,4,16", "43,2,18"}) {
    CHECK(error_code([&] { store.set_layout(Layout::parse(other), WorkerRange{0, 3}); }) == ErrorCode::usage);
    CHECK(store.layout() == own);
    CHECK(store.worker_range() == WorkerRange{0, 7});
  }
}

TEST_CASE("worker range: it lies in the layout, whichever changes") {
  SqliteStore file;
  Store store(file.options());
  const leaf::Error beyond = error_of([&] { store.set_worker_range(WorkerRange{0, 1024}); });
  CHECK(beyond.code() == ErrorCode::usage);
  CHECK(beyond.hint() == "it has workers from 0 to 1023");
  for (const WorkerRange& none : {WorkerRange{-1, 5}, WorkerRange{5, 4}})
    CHECK(error_code([&] { store.set_worker_range(none); }) == ErrorCode::usage);
  store.set_worker_range(WorkerRange{512, 1023});
  const leaf::Error small = error_of([&] { store.set_layout(Layout::parse("41,8,14")); });
  CHECK(small.code() == ErrorCode::usage);
  CHECK(std::string(small.what()).find("ends with 255") != std::string::npos);
  store.set_worker_range({});
  store.set_layout(Layout::parse("41,8,14"));
  CHECK(store.worker_range() == WorkerRange{0, 255});
}
