#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "leaf/snowflake.hpp"
#include "support/error_of.hpp"
#include "support/is_asleep.hpp"
#include "support/number_of_parent.hpp"
#include "support/sqlite_session.hpp"
#include "support/test_host.hpp"
#include "support/wait_for.hpp"

using namespace std::chrono_literals;
using leaf::ErrorCode;
using leaf::Layout;
using leaf::SnowflakeGenerator;
using leaf::SnowflakeOptions;
using leaf::Store;
using leaf::test::ClockedStore;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::error_text;
using leaf::test::is_asleep;
using leaf::test::ManualClock;
using leaf::test::proposes;
using leaf::test::SqliteStore;
using leaf::test::wait_for;

namespace {

/// A store and a clock that the test sets. SQLite's clock is the host's, so both sides agree on the time.
struct GeneratorFixture : ClockedStore {
  SnowflakeGenerator generator(const SnowflakeOptions& snowflake) {
    return SnowflakeGenerator(store_options(), snowflake);
  }

  leaf::StoreOptions impatient_store_options() {
    auto options = store_options();
    options.timeout = 1ms;
    return options;
  }
};

/// Its tick changes when the test says so, and it counts how often it is read.
class CountingClock final : public ManualClock {
 public:
  std::chrono::system_clock::time_point now() override {
    ++readings;
    return ManualClock::now();
  }
  std::int64_t tick() override { return ticks; }

  std::atomic<int> readings{0};
  std::atomic<std::int64_t> ticks{1};
};

SnowflakeOptions owned_by(const std::string& owner) {
  SnowflakeOptions options;
  options.worker.owner = owner;
  return options;
}

/// Of one window at a time, without a wait for the store.
SnowflakeOptions impatient(std::chrono::milliseconds window) {
  auto options = owned_by("a");
  options.worker.window = window;
  options.timeout = 0ms;
  return options;
}

/// Has something happen once another thread is about to ask the store for a lease.
class InterruptedClock final : public ManualClock {
 public:
  std::chrono::system_clock::time_point now() override {
    if (std::this_thread::get_id() != of_test_) std::call_once(happened_, [this] { happens(); });
    return ManualClock::now();
  }

  std::function<void()> happens;

 private:
  const std::thread::id of_test_ = std::this_thread::get_id();
  std::once_flag happened_;
};

std::vector<std::int64_t> draw(SnowflakeGenerator& generator, std::size_t count) {
  std::vector<std::int64_t> ids(count);
  generator.next(ids);
  return ids;
}

bool strictly_increasing(const std::vector<std::int64_t>& ids) {
  return std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end();
}

std::int64_t ms_of(std::chrono::system_clock::time_point time) {
  return std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
}

}  // namespace

TEST_CASE("generator: owners that come once and release their worker share one, and no ID repeats") {
  GeneratorFixture fixture;
  Store store(fixture.store_options());
  std::vector<std::int64_t> all;
  for (int i = 0; i < 50; ++i) {
    auto options = owned_by("container" + std::to_string(i));
    options.release_at_end = true;
    {
      auto generator = fixture.generator(options);
      for (const std::int64_t id : draw(generator, 5000)) all.push_back(id);
      CHECK(generator.worker() == 0);
    }
    const auto left = store.workers();
    REQUIRE(left.size() == 1);
    CHECK(left[0].owner.empty());
    CHECK_FALSE(left[0].leased);
    CHECK(left[0].window_end == Layout::parse("leaf").time_of(all.back()) + 1ms);
    fixture.clock.advance(2ms);
  }
  CHECK(strictly_increasing(all));
  // One that keeps its worker keeps it from others.
  { draw(*std::make_unique<SnowflakeGenerator>(fixture.store_options(), owned_by("keeper")), 1); }
  fixture.clock.advance(2ms);
  CHECK(fixture.generator(owned_by("other")).worker() == 1);
}

TEST_CASE("generator: what is released by a lease that was lost stays with who has it") {
  GeneratorFixture fixture;
  Store store(fixture.store_options());
  leaf::WorkerRequest request = owned_by("a").worker;
  request.worker = 0;
  const leaf::WorkerLease lost = store.acquire_worker(request);
  store.recycle_worker(0, true);
  fixture.clock.advance(11min);
  request.owner = "b";
  const leaf::WorkerLease held = store.acquire_worker(request);
  CHECK_FALSE(store.release_worker(lost, lost.begin));
  CHECK(store.workers().at(0).owner == "b");
  CHECK(store.workers().at(0).window_end == held.end);
  CHECK(store.release_worker(held, held.begin + 1ms));
  CHECK(store.workers().at(0).window_end == held.begin + 1ms);
  CHECK_FALSE(store.release_worker(held, held.begin));
}

TEST_CASE("generator: windows of a host are not released by one of its processes") {
  GeneratorFixture fixture;
  auto options = owned_by("a");
  options.release_at_end = true;
  options.host = leaf::HostOptions{.folder = fixture.store.path() + ".run"};
  CHECK(error_code([&] { fixture.generator(options); }) == ErrorCode::usage);
}

TEST_CASE("generator: an ID holds the time, the worker and a sequence that starts below 100") {
  GeneratorFixture fixture;
  auto generator = fixture.generator(owned_by("a"));
  std::set<std::int64_t> starts;
  for (int i = 0; i < 50; ++i) {
    fixture.clock.advance(10ms);
    const auto decoded = generator.layout().decompose(generator.next());
    CHECK(decoded.time.time_since_epoch().count() == ms_of(fixture.clock.now()));
    CHECK(decoded.worker == generator.worker());
    CHECK(decoded.sequence < 100);
    starts.insert(decoded.sequence);
  }
  CHECK(starts.size() > 5);
}

TEST_CASE("generator: ten million IDs are strictly increasing, and a used-up unit waits for the next one") {
  GeneratorFixture fixture;
  auto generator = fixture.generator(owned_by("a"));
  std::int64_t last = 0;
  bool increasing = true;
  const auto begun = fixture.clock.now();
  for (int i = 0; i < 10'000; ++i) {
    const auto ids = draw(generator, 1000);
    increasing = increasing && strictly_increasing(ids) && ids.front() > last;
    last = ids.back();
    const auto lead =
        generator.layout().time_of(last).time_since_epoch().count() - ms_of(fixture.clock.now());
    REQUIRE(lead <= 0);
  }
  CHECK(increasing);
  // At full rate no sequence number is left out: 4096 in each unit of time that has passed.
  const auto units = ms_of(fixture.clock.now()) - ms_of(begun) + 1;
  CHECK(units <= 10'000'000 / 4096 + 2);
}

TEST_CASE("generator: draws one after the other share a reading of the clock, 100 at most, within a tick") {
  const SqliteStore file;
  CountingClock clock;
  auto store = file.options();
  store.clock = &clock;
  SnowflakeGenerator generator(store, owned_by("here"));
  const Layout& layout = generator.layout();
  const auto now = [&] { return std::chrono::floor<std::chrono::milliseconds>(clock.ManualClock::now()); };
  std::int64_t last = 0;
  const auto next = [&] {
    const std::int64_t id = generator.next();
    CHECK(id > last);
    last = id;
    return layout.time_of(id);
  };
  for (int i = 0; i < 2000; ++i) next();
  const int before = clock.readings;
  for (int i = 0; i < 1010; ++i) next();
  CHECK(clock.readings - before == 10);

  clock.advance(3ms);
  const auto old = now() - 3ms;
  int late = 0;
  while (next() == old) ++late;
  CHECK(late <= 100);
  CHECK(next() == now());

  for (int i = 0; i < 10; ++i) next();
  clock.advance(3ms);
  ++clock.ticks;
  CHECK(next() == now());

  // Not one after the other: each has its time, whatever the tick.
  for (int i = 0; i < 10; ++i) {
    clock.advance(1ms);
    CHECK(next() == now());
  }
}

TEST_CASE("generator: a child of a fork that ends it gives back nothing of the parent's") {
  const SqliteStore file;
  auto generator = std::make_unique<SnowflakeGenerator>(file.options(), owned_by("here"));
  const auto before = file.open().workers().at(0).window_end;
  const std::int64_t first = generator->next();
  std::optional<leaf::test::NumberOfParent> alike;
  SUBCASE("with a PID of its own") {}
  SUBCASE("with its parent's") {
    alike.emplace();
  }
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    generator.reset();
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(file.open().workers().at(0).window_end == before);
  CHECK(generator->next() > first);
}

TEST_CASE("generator: to try for the next ID reads no clock, and gives none where the clock is due") {
  const SqliteStore file;
  CountingClock clock;
  auto store = file.options();
  store.clock = &clock;
  SnowflakeGenerator generator(store, owned_by("here"));
  std::int64_t id = 0;
  CHECK_FALSE(generator.try_next(id));
  std::int64_t last = draw(generator, 2000).back();
  while (generator.try_next(id)) {  // to the end of a reading
    CHECK(id > last);
    last = id;
  }
  last = generator.next();
  const int before = clock.readings;
  int tried = 0;
  while (generator.try_next(id)) {
    CHECK(id == last + 1);
    last = id;
    ++tried;
  }
  CHECK(tried == 100);
  CHECK(clock.readings == before);
  CHECK(generator.next() == last + 1);
  ++clock.ticks;
  CHECK_FALSE(generator.try_next(id));
}

TEST_CASE_FIXTURE(
    GeneratorFixture,
    "generator: to try for many makes what can be made at once, by the clock too, and never waits") {
  auto options = owned_by("here");
  options.worker.window = 100ms;
  auto generator = this->generator(options);
  std::vector<std::int64_t> ids(10000);
  // What the unit of time has left, and not one more: the clock stands still.
  const std::size_t first = generator.try_next(ids);
  CHECK(first > 0);
  CHECK(first <= 4096);
  CHECK(std::is_sorted(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(first)));
  CHECK(generator.try_next(ids) == 0);
  clock.advance(1ms);
  const std::int64_t last = ids[first - 1];
  CHECK(generator.try_next(std::span(ids).first(10)) == 10);
  CHECK(ids[0] > last);
  // Past the windows there is nothing until another one is leased.
  clock.advance(1h);
  CHECK(generator.try_next(ids) == 0);
  CHECK(generator.next() > ids[9]);
  CHECK(generator.try_next(std::span(ids).first(1)) == 1);
}

TEST_CASE("generator: a reading that is shared leads to no window but the one it was made for") {
  const SqliteStore file;
  CountingClock clock;
  auto store = file.options();
  store.clock = &clock;
  auto options = owned_by("here");
  options.worker.window = 100ms;
  SnowflakeGenerator generator(store, options);
  std::int64_t last = 0;
  for (int i = 0; i < 50; ++i) last = generator.next();
  for (int round = 0; round < 5; ++round) {
    std::thread([&] {
      clock.advance(110ms);
      std::int64_t ids[3];
      for (std::int64_t& id : ids) id = generator.next();
      CHECK(ids[0] > last);
      last = ids[2];
    }).join();
    for (int i = 0; i < 50; ++i) {
      const std::int64_t id = generator.next();
      CHECK(id > last);
      last = id;
    }
  }
}

TEST_CASE("generator: a reading of one that has ended is none of those that take its place in memory") {
  leaf::test::TestHost host;
  std::set<std::int64_t> ids;
  constexpr std::size_t owners = 30, draws = 30;
  for (std::size_t i = 0; i < owners; ++i) {
    // The next one's file is mapped to where this one's was.
    SnowflakeOptions options = owned_by("owner" + std::to_string(i));
    options.host = host.host_options();
    SnowflakeGenerator generator(host.store_options(), options);
    for (const auto end = ids.size() + draws; ids.size() < end;) {
      const std::int64_t id = generator.next();
      REQUIRE(generator.layout().worker_of(id) == generator.worker());
      REQUIRE(ids.insert(id).second);
    }
  }
}

TEST_CASE("generator: at full rate a short pause is made up for, a longer one is not") {
  GeneratorFixture fixture;
  auto generator = fixture.generator(owned_by("a"));
  const auto& layout = generator.layout();
  const auto first = draw(generator, 20'000).back();
  const auto to_the_end = static_cast<std::size_t>(layout.max_sequence() - layout.sequence_of(first));
  if (to_the_end > 0) draw(generator, to_the_end);
  const auto used_up = layout.time_of(first);
  fixture.clock.advance(15ms);
  CHECK(layout.time_of(draw(generator, 4096).back()) == used_up + 1ms);
  fixture.clock.advance(25ms);
  CHECK(layout.time_of(generator.next()) ==
        std::chrono::floor<std::chrono::milliseconds>(fixture.clock.now()));
}

TEST_CASE("generator: a clock that is set back by up to max_backward goes on, further back is refused") {
  for (const auto back : {1ms, 1000ms, 1999ms}) {
    GeneratorFixture fixture;
    auto generator = fixture.generator(owned_by("a"));
    auto ids = draw(generator, 10);
    fixture.clock.set_back(back);
    const auto more = draw(generator, 20'000);
    ids.insert(ids.end(), more.begin(), more.end());
    CHECK(strictly_increasing(ids));
    // It ran on at the clock's pace, not ahead of it.
    const auto lead =
        generator.layout().time_of(ids.back()).time_since_epoch().count() - ms_of(fixture.clock.now());
    CHECK(lead <= back.count() + 1);
  }
  for (const auto back : {2001ms, 3'600'000ms}) {
    GeneratorFixture fixture;
    auto generator = fixture.generator(owned_by("a"));
    auto last = draw(generator, 10).back();
    // One after the other, as where many share a reading of the clock.
    for (int i = 0; i < 10; ++i) last = generator.next();
    fixture.clock.set_back(back);
    for (int i = 0; i < 3; ++i) {
      std::int64_t id = 0;
      CHECK(error_code([&] { generator.next(); }) == ErrorCode::refused);
      CHECK_FALSE(generator.try_next(id));
    }
    fixture.clock.set_back(-back);
    CHECK(generator.next() > last);
  }
}

TEST_CASE_FIXTURE(GeneratorFixture,
                  "generator: a clock that is set back by up to max_backward goes on after a restart too") {
  auto options = owned_by("a");
  options.worker.max_skew = 1h;  // or its last grant speaks against the clock
  const std::int64_t last = generator(options).next();
  clock.set_back(30min);
  CHECK(error_code([&] { generator(options); }) == ErrorCode::refused);
  options.max_backward = 1h;
  CHECK(generator(options).next() > last);
}

TEST_CASE("generator: a clock that jumps a day ahead and back loses neither order nor the window") {
  GeneratorFixture fixture;
  auto options = owned_by("a");
  auto generator = fixture.generator(options);
  std::vector<std::int64_t> ids = draw(generator, 10);
  {
    // Somebody whose clock is right holds a worker too, so that the store knows the time.
    fixture.clock.set_back(-24h);
    CHECK(generator.next() > ids.back());  // with a file for a store there is no other clock to ask
    fixture.clock.set_back(24h);
    CHECK(error_code([&] { generator.next(); }) == ErrorCode::refused);
  }
  // Across a restart its earlier grants speak against the clock; others go on.
  CHECK(error_code([&] { fixture.generator(options); }) == ErrorCode::refused);
  CHECK(fixture.generator(owned_by("b")).next() != ids.back());
  options.worker.max_skew = 25h;
  auto accepted = fixture.generator(options);
  CHECK(accepted.worker() != generator.worker());
  CHECK(accepted.next() != ids.back());
}

TEST_CASE("generator: a clock that jumps past both windows and back finds the first one still there") {
  GeneratorFixture fixture;
  auto options = impatient(10s);
  const auto store_options = fixture.impatient_store_options();
  SnowflakeGenerator generator(store_options, options);
  std::vector<std::int64_t> ids{generator.next()};
  const auto leased_until = [&] { return fixture.store.open().workers().at(0).window_end; };
  const auto first_end = leased_until();
  for (int i = 0; i < 9; ++i) {
    fixture.clock.advance(1s);
    ids.push_back(generator.next());
  }
  // To look may be in the way of a fetch, which then waits for time to pass.
  REQUIRE(wait_for([&] {
    fixture.clock.advance(1ms);
    return leased_until() > first_end;
  }));

  leaf::test::SqliteSession other(fixture.store.path());
  REQUIRE(other.run("BEGIN EXCLUSIVE"));
  fixture.clock.advance(24h);
  CHECK(error_code([&] { generator.next(); }) == ErrorCode::unavailable);
  fixture.clock.set_back(24h);
  ids.push_back(generator.next());
  CHECK(strictly_increasing(ids));
  CHECK(generator.layout().time_of(ids.back()).time_since_epoch().count() == ms_of(fixture.clock.now()));
}

TEST_CASE("generator: what a clock far ahead leaves in its own memory goes as its hint says") {
  GeneratorFixture fixture;
  constexpr auto far = 400 * 24h;
  const std::string hint =
      "set the clock right; if it is right already, release the owner's workers, then start this program "
      "again";
  InterruptedClock clock;
  bool is_at_lease = false;
  clock.happens = [&] {
    if (is_at_lease) clock.set_back(far);
  };
  auto store = fixture.store_options();
  store.clock = &clock;
  auto options = owned_by("here");
  std::mutex mutex;
  std::optional<leaf::Error> failure;
  options.on_renewal_failure = [&](const leaf::Error& error) {
    const std::lock_guard lock(mutex);
    failure = error;
  };
  clock.set_back(-far);
  std::optional<SnowflakeGenerator> running;
  running.emplace(store, options);
  const std::int64_t ahead = running->next();

  SUBCASE("when an ID is drawn") {
    clock.set_back(far);
  }
  SUBCASE("when the next window is leased") {
    is_at_lease = true;
    clock.advance(6min);
    for (int i = 0; i < 2; ++i) running->next();  // half of the window was used: it asks for the next one
    REQUIRE(wait_for([&] {
      const std::lock_guard lock(mutex);
      return failure.has_value();
    }));
    CHECK(failure->code() == ErrorCode::refused);
    CHECK(failure->hint() == hint);
  }
  const auto refusal = [&] { return error_of([&] { running->next(); }); };
  CHECK(refusal().code() == ErrorCode::refused);
  CHECK(refusal().hint() == hint);
  CHECK(proposes(refusal(), {.kind = leaf::Remedy::Kind::release_workers, .name = "here"}));
  // Who has no window yet need not start again.
  const std::string others = error_text([&] { SnowflakeGenerator(store, options); });
  CHECK(others.ends_with("if it is right already, release the owner's workers to go on"));

  Store(store).release_workers("here");
  CHECK(refusal().hint() == hint);
  running.reset();
  running.emplace(store, options);
  const std::int64_t id = running->next();
  CHECK(running->layout().time_of(id) == std::chrono::floor<std::chrono::milliseconds>(clock.now()));
  CHECK(id < ahead);
}

TEST_CASE("generator: a restart with a clock set back begins where the last window ended") {
  GeneratorFixture fixture;
  std::int64_t last = 0;
  {
    auto generator = fixture.generator(owned_by("a"));
    last = draw(generator, 5000).back();
  }
  fixture.clock.set_back(1s);
  auto generator = fixture.generator(owned_by("a"));
  const auto ids = draw(generator, 5000);
  CHECK(ids.front() > last);
  CHECK(strictly_increasing(ids));
}

TEST_CASE(
    "generator: one after the other, an owner's processes make IDs in order, whichever worker they get") {
  GeneratorFixture fixture;
  std::int64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    auto generator = fixture.generator(owned_by("a"));
    const std::int64_t id = generator.next();
    CHECK(id > last);
    last = id;
  }
  CHECK(fixture.store.open().workers().size() <= 2);
}

TEST_CASE("generator: past its window it leases another one, in time and after an hour's stop") {
  GeneratorFixture fixture;
  auto options = owned_by("a");
  options.worker.window = 1s;
  auto generator = fixture.generator(options);
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 100; ++i) {
    fixture.clock.advance(100ms);
    ids.push_back(generator.next());
  }
  fixture.clock.advance(1h);
  ids.push_back(generator.next());
  CHECK(strictly_increasing(ids));
  CHECK(generator.layout().time_of(ids.back()).time_since_epoch().count() == ms_of(fixture.clock.now()));
  CHECK(fixture.store.open().workers().size() == 1);
}

TEST_CASE(
    "generator: a stopped one whose worker was recycled and taken goes on with another, and nothing "
    "repeats") {
  GeneratorFixture fixture;
  auto options = owned_by("a");
  options.worker.window = 1s;
  auto stopped = fixture.generator(options);
  std::vector<std::int64_t> ids = draw(stopped, 100);
  const std::int64_t its_worker = stopped.worker();

  fixture.clock.advance(3s);
  Store(fixture.store_options()).recycle_worker(its_worker, false);
  options.worker.owner = "b";
  auto taker = fixture.generator(options);
  CHECK(taker.worker() == its_worker);
  const auto theirs = draw(taker, 100);

  const auto resumed = draw(stopped, 100);
  CHECK(stopped.worker() != its_worker);
  CHECK(resumed.front() > ids.back());
  ids.insert(ids.end(), theirs.begin(), theirs.end());
  ids.insert(ids.end(), resumed.begin(), resumed.end());
  CHECK(std::set<std::int64_t>(ids.begin(), ids.end()).size() == ids.size());
}

TEST_CASE("generator: a live worker recycled by force keeps its window, and its taker begins after it") {
  GeneratorFixture fixture;
  auto options = owned_by("a");
  options.worker.window = 20s;
  options.worker.worker = 7;
  auto generator = fixture.generator(options);
  generator.next();
  Store admin(fixture.store_options());
  CHECK(error_code([&] { admin.recycle_worker(7, false); }) == ErrorCode::refused);
  admin.recycle_worker(7, true);
  CHECK(admin.workers().at(0).owner.empty());
  const auto its_end = admin.workers().at(0).window_end;
  options.worker.owner = "b";
  CHECK(error_code([&] { fixture.generator(options); }) == ErrorCode::refused);  // the window is not over
  generator.next();
  fixture.clock.advance(16s);
  auto taker = fixture.generator(options);  // waits for it
  CHECK(taker.layout().time_of(taker.next()) >= its_end);
}

TEST_CASE(
    "generator: who keeps windows in memory waits for a worker within the timeout; who shares them does "
    "not") {
  GeneratorFixture fixture;
  auto options = owned_by("a");
  options.worker.worker = 7;
  options.worker.window = 20s;
  const auto its_end = [&] { return Store(fixture.store_options()).workers().at(0).window_end; };
  const leaf::WorkerLease unused = Store(fixture.store_options()).acquire_worker(options.worker);
  Store(fixture.store_options()).release_workers("a");
  options.worker.owner = "b";
  fixture.clock.advance(16s);
  const auto begin = fixture.clock.steady_now();
  SUBCASE("in memory") {
    auto generator = fixture.generator(options);
    CHECK(generator.layout().time_of(generator.next()) >= unused.end);
  }
  SUBCASE("of a host") {
    const leaf::test::TemporaryFolder home(leaf::test::in_memory);
    options.host = leaf::HostOptions{.folder = home.path() / "run", .fetch_ahead = false};
    CHECK(error_code([&] { fixture.generator(options); }) == ErrorCode::refused);
    CHECK(fixture.clock.steady_now() == begin);
    CHECK(its_end() == unused.end);
  }
}

TEST_CASE("generator: the worker that replaces a recycled one begins where the last window ends") {
  GeneratorFixture fixture;
  auto options = owned_by("a");
  options.worker.window = 2s;
  auto generator = fixture.generator(options);
  generator.next();
  Store admin(fixture.store_options());
  const auto end = admin.workers().at(0).window_end;
  admin.recycle_worker(0, true);
  fixture.clock.advance(1500ms);
  for (int i = 0; i < 2; ++i) generator.next();  // half of the window was used: it asks for the next one
  REQUIRE(wait_for([&] { return admin.workers().size() >= 2; }));
  CHECK(admin.workers().at(1).window_end == end + options.worker.window);
}

TEST_CASE("generator: giving up leads no further back than where the holder began") {
  GeneratorFixture fixture;
  auto options = owned_by("a");
  options.worker.worker = 3;
  std::int64_t last = 0;
  {
    auto generator = fixture.generator(options);
    last = generator.next();
  }
  const auto used_until = fixture.store.open().workers().at(0).window_end;
  CHECK(used_until.time_since_epoch().count() == ms_of(fixture.clock.now()) + 1);
  fixture.clock.advance(1s);
  Store admin(fixture.store_options());
  leaf::WorkerLease lease = admin.acquire_worker(options.worker);
  lease.begin = {};
  CHECK(admin.give_up_worker(lease, leaf::UnixTime{}));
  CHECK(fixture.store.open().workers().at(0).window_end == used_until);
  CHECK_FALSE(admin.give_up_worker(lease, lease.begin));
  leaf::test::SqliteSession by_hand(fixture.store.path());
  CHECK_FALSE(by_hand.run("UPDATE leaf_worker SET window_end = window_end - 1"));
  CHECK_FALSE(by_hand.run("DELETE FROM leaf_worker"));
  auto generator = fixture.generator(options);
  CHECK(generator.next() > last);
  CHECK_FALSE(by_hand.run("UPDATE leaf_worker SET window_end = window_end - 1"));  // it is held
  CHECK_FALSE(by_hand.run("UPDATE leaf_worker SET token = NULL, window_end = held_after - 1"));
  CHECK(by_hand.run("UPDATE leaf_worker SET token = NULL, window_end = held_after"));
}

TEST_CASE("generator: a window that is leased while the generator ends is given back too") {
  GeneratorFixture fixture;
  InterruptedClock clock;
  auto store = fixture.store_options();
  store.clock = &clock;
  auto options = owned_by("a");
  options.worker.window = 2s;
  std::atomic<pid_t> ends{0};
  std::atomic<bool> is_asked{false};
  clock.happens = [&] {
    is_asked = true;
    CHECK(wait_for([&] { return ends != 0 && is_asleep(ends); }));
  };
  auto generator = std::make_unique<SnowflakeGenerator>(store, options);
  clock.advance(1500ms);
  for (int i = 0; i < 2; ++i) generator->next();  // half of the window was used: it asks for the next one
  REQUIRE(wait_for([&] { return is_asked.load(); }));
  std::thread([&] {
    ends = gettid();
    generator.reset();
  }).join();
  for (const auto& worker : fixture.store.open().workers())
    CHECK(worker.window_end.time_since_epoch().count() == ms_of(clock.now()) + 1);
}

TEST_CASE("generator: the store away, IDs are made to the end of the window and again when it is back") {
  GeneratorFixture fixture;
  auto options = impatient(10s);
  const auto store_options = fixture.impatient_store_options();
  std::atomic<int> failures{0};
  options.on_renewal_failure = [&](const leaf::Error& error) {
    CHECK(error.code() == ErrorCode::unavailable);
    ++failures;
  };
  SnowflakeGenerator generator(store_options, options);
  std::vector<std::int64_t> ids{generator.next()};
  leaf::test::SqliteSession other(fixture.store.path());
  REQUIRE(other.run("BEGIN EXCLUSIVE"));
  for (int i = 0; i < 9; ++i) {
    fixture.clock.advance(1s);
    ids.push_back(generator.next());
  }
  REQUIRE(wait_for([&] { return failures != 0; }));  // half of the window was used: it asked for the next one
  fixture.clock.advance(2s);
  CHECK(error_code([&] { generator.next(); }) == ErrorCode::unavailable);
  REQUIRE(other.run("COMMIT"));
  while (error_code([&] { ids.push_back(generator.next()); })) fixture.clock.advance(100ms);
  CHECK(strictly_increasing(ids));
}

TEST_CASE_FIXTURE(GeneratorFixture, "generator: one that ends while its store is locked ends quietly") {
  leaf::test::SqliteSession other(store.path());
  {
    SnowflakeGenerator generator(impatient_store_options(), impatient(10s));
    generator.next();
    REQUIRE(other.run("BEGIN EXCLUSIVE"));
  }
  REQUIRE(other.run("COMMIT"));
  CHECK(store.open().workers().at(0).leased);  // to the end of its window
}

TEST_CASE("generator: a renewal that fails takes no other worker while the last window runs") {
  leaf::test::TestHost host;
  auto options = impatient(10s);
  options.host = host.host_options();
  SnowflakeGenerator generator(host.store_options(), options);
  const std::int64_t first = generator.next();
  leaf::test::SqliteSession other(host.store.path());
  REQUIRE(
      other.run("CREATE TRIGGER fails BEFORE UPDATE ON leaf_worker WHEN NEW.token = OLD.token"
                " BEGIN SELECT RAISE(ABORT, 'this renewal fails'); END"));
  host.clock.advance(6s);
  for (int i = 0; i < 3; ++i)
    CHECK(error_text([&] { generator.fetch(); }).find("this renewal fails") != std::string::npos);
  CHECK(generator.next() > first);
  CHECK(host.open().workers().size() == 1);
}

TEST_CASE_FIXTURE(
    GeneratorFixture,
    "generator: a store whose name has led elsewhere for a moment goes on with the window it had granted") {
  auto options = owned_by("a");
  options.timeout = 0ms;
  auto generator = this->generator(options);
  const std::int64_t first = generator.next();
  const std::int64_t worker = generator.worker();
  const SqliteStore elsewhere;
  const auto lead_to = [&](const std::string& from, const std::string& to) {
    const std::uint64_t before = generator.store_changes();
    std::filesystem::rename(store.path(), to);
    std::filesystem::rename(from, store.path());
    clock.wait_for_sleepers(1);
    clock.advance(31s);
    REQUIRE(wait_for([&] { return generator.store_changes() != before; }));
  };
  const std::string away = store.path() + ".away";
  SUBCASE("and granted one as well") {
    lead_to(elsewhere.path(), away);
    CHECK(generator.next() > first);
  }
  SUBCASE("to one that makes IDs of other parts") {
    elsewhere.open().set_layout(Layout::parse("sonyflake"));
    lead_to(elsewhere.path(), away);
    CHECK(error_text([&] { generator.next(); }) ==
          "the store is another deployment now, with the layout 'sonyflake' | start this program again");
    CHECK(store.open().workers().empty());  // nor does it take one of its workers
  }
  lead_to(away, elsewhere.path());
  CHECK_NOTHROW(generator.next());
  CHECK(generator.worker() == worker);
}

TEST_CASE("generator: time before the epoch and past the last bit is exhausted, and never a negative ID") {
  {
    GeneratorFixture fixture;
    Store(fixture.store_options()).set_layout(Layout::parse("leaf@4102444800000"));  // begins in 2100
    CHECK(error_code([&] { fixture.generator(owned_by("a")); }) == ErrorCode::exhausted);
  }
  {
    GeneratorFixture fixture;
    const auto layout = Layout::parse(
        "30,10,12@" + std::to_string(ms_of(fixture.clock.now()) - (std::int64_t{1} << 30) + 2000));
    Store(fixture.store_options()).set_layout(layout);
    auto generator = fixture.generator(owned_by("a"));
    CHECK(layout.time_of(generator.next()) == layout.last_time() - 1999ms);
    fixture.clock.advance(1999ms);
    const auto last = generator.next();
    CHECK(layout.time_of(last) == layout.last_time());
    fixture.clock.advance(1ms);
    CHECK(error_code([&] { generator.next(); }) == ErrorCode::exhausted);
    CHECK(error_code([&] { fixture.generator(owned_by("b")); }) == ErrorCode::exhausted);
  }
}

TEST_CASE(
    "generator: layouts with other units, widths and orders of fields keep their order and their bounds") {
  for (const char* text : {"sonyflake", "baidu:31+19+13", "mastodon", "yitter", "discord", "instagram",
                           "40,8,4/10ms@1409529600000"}) {
    CAPTURE(text);
    GeneratorFixture fixture;
    Store(fixture.store_options()).set_layout(Layout::parse(text));
    auto options = owned_by("a");
    options.timeout = 1h;
    auto generator = fixture.generator(options);
    const auto ids = draw(generator, 3000);
    CHECK(strictly_increasing(ids));
    CHECK(std::all_of(ids.begin(), ids.end(), [&](std::int64_t id) { return generator.layout().holds(id); }));
    CHECK(generator.layout().time_of(ids.back()) <=
          std::chrono::floor<std::chrono::milliseconds>(fixture.clock.now()));
  }
}

TEST_CASE("generator: units of time that a window holds in part are left out") {
  GeneratorFixture fixture;
  Store(fixture.store_options()).set_layout(Layout::parse("baidu@1704067200000"));  // units of a second
  fixture.clock.set_back(fixture.clock.now() - std::chrono::floor<std::chrono::seconds>(fixture.clock.now()) -
                         300ms);
  const leaf::UnixTime begin = std::chrono::floor<std::chrono::milliseconds>(fixture.clock.now());
  auto options = impatient(3500ms);
  const auto store_options = fixture.impatient_store_options();
  SnowflakeGenerator generator(store_options, options);
  leaf::test::SqliteSession other(fixture.store.path());
  REQUIRE(other.run("BEGIN EXCLUSIVE"));  // there will be no other window
  std::set<std::chrono::milliseconds> since_begin;
  const auto draw_one = [&] { since_begin.insert(generator.layout().time_of(generator.next()) - begin); };
  for (int i = 0; i < 100 && !error_code(draw_one); ++i) fixture.clock.advance(100ms);
  CHECK(since_begin == std::set{700ms, 1700ms});
}

TEST_CASE("generator: a unit that is longer than windows usually are needs windows that are asked for") {
  GeneratorFixture fixture;
  const std::string epoch = std::to_string(ms_of(fixture.clock.now()));
  Store(fixture.store_options()).set_layout(Layout::parse("time:24,worker:10,sequence:10/6m@" + epoch));
  const auto draw_with = [&](std::chrono::milliseconds window) {
    leaf::SnowflakeOptions options = owned_by("a");
    options.worker.window = window;
    fixture.generator(options).next();
  };
  const leaf::Error error = leaf::test::error_of([&] { draw_with(10min); });
  CHECK(error.code() == leaf::ErrorCode::usage);
  CHECK(error.hint() == "set the window to 720s or longer");
  CHECK(Store(fixture.store_options()).workers().empty());
  CHECK_NOTHROW(draw_with(12min));
}

TEST_CASE("generator: threads that draw singly and in batches never get the same ID, each in order") {
  constexpr std::size_t threads = 4;
  SqliteStore store;  // with the real clock
  SnowflakeGenerator generator(store.options(), owned_by("a"));
  std::vector<std::vector<std::int64_t>> drawn(threads);
  {
    std::vector<std::jthread> drawers;
    for (std::size_t t = 0; t < threads; ++t) {
      drawers.emplace_back([&, t] {
        for (std::size_t i = 0; i < 50'000; ++i) {
          if (t % 2 == 0) {
            drawn[t].push_back(generator.next());
          } else {
            const auto batch = draw(generator, 1 + i % 5);
            drawn[t].insert(drawn[t].end(), batch.begin(), batch.end());
          }
        }
      });
    }
  }
  std::vector<std::int64_t> all;
  for (const auto& ids : drawn) {
    CHECK(strictly_increasing(ids));
    all.insert(all.end(), ids.begin(), ids.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(strictly_increasing(all));
}

TEST_CASE(
    "generator: a unit of time that begins after the timeout is not waited for, and said to begin then") {
  GeneratorFixture fixture;
  const auto half_an_hour_ago = ms_of(fixture.clock.now()) - 30 * 60 * 1000;
  Store(fixture.store_options()).set_layout(Layout::parse("31,10,22/1h@" + std::to_string(half_an_hour_ago)));
  SnowflakeOptions options = owned_by("a");
  options.worker.window = 2h;
  for (const auto timeout : {1s, 0s, 1799s}) {
    options.timeout = timeout;
    auto generator = fixture.generator(options);
    const auto before = fixture.clock.steady_now();
    CHECK(error_code([&] { generator.next(); }) == ErrorCode::unavailable);
    CHECK(error_text([&] {
            generator.next();
          }).find("the next unit of time of layout 'time:31,worker:10,sequence:22/1h@") != std::string::npos);
    CHECK(fixture.clock.steady_now() - before <= 1s);
  }
  options.timeout = 1801s;
  CHECK_NOTHROW(fixture.generator(options).next());
}

TEST_CASE("generator: a worker that its owner has given back is leased again before its last unit is over") {
  GeneratorFixture fixture;
  const auto ago = ms_of(fixture.clock.now()) - 3'000;
  Store(fixture.store_options()).set_layout(Layout::parse("time:31,sequence:8/10s@" + std::to_string(ago)));
  SnowflakeOptions options = owned_by("a");
  SUBCASE("where the layout has one worker") {}
  SUBCASE("where it is asked for") {
    options.worker.worker = 0;
  }
  options.timeout = 30s;
  std::int64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    Store store(fixture.store_options());
    CHECK_NOTHROW(store.check_lease(options.worker));
    const std::int64_t id = fixture.generator(options).next();
    CHECK(id > last);
    last = id;
  }
  CHECK(fixture.store.open().workers().size() == 1);
}

TEST_CASE("generator: those that end before the first unit of their windows begins take one worker in all") {
  GeneratorFixture fixture;
  const auto half_an_hour_ago = ms_of(fixture.clock.now()) - 30 * 60 * 1000;
  Store(fixture.store_options()).set_layout(Layout::parse("31,2,30/1h@" + std::to_string(half_an_hour_ago)));
  SnowflakeOptions options = owned_by("a");
  options.worker.window = 2h;
  const auto use = [&](bool has_time) {
    options.timeout = has_time ? 1801s : 1s;
    auto generator = fixture.generator(options);
    CHECK((error_code([&] { generator.next(); }) == ErrorCode::unavailable) == !has_time);
  };
  for (int i = 0; i < 5; ++i) use(false);
  CHECK(fixture.store.open().workers().size() == 1);
  use(true);
  // A unit that was begun is used up.
  CHECK(fixture.store.open().workers().at(0).window_end - fixture.clock.now() > 59min);
  use(false);
  CHECK(fixture.store.open().workers().size() == 1);
}

namespace {

/// Time goes on by `passes` whenever somebody looks at it, and wakes nobody.
class HastyClock final : public ManualClock {
 public:
  std::chrono::system_clock::time_point now() override {
    passed_ = passed_.load() + passes.load();
    if (++looks > 100'000) throw std::runtime_error("nobody looks so often");
    return ManualClock::now() + passed_.load();
  }
  std::chrono::steady_clock::time_point steady_now() override {
    return ManualClock::steady_now() + passed_.load();
  }
  std::atomic<std::chrono::milliseconds> passes{};
  std::atomic<int> looks = 0;

 private:
  std::atomic<std::chrono::milliseconds> passed_{};
};

/// A time of day that stands still, while what is waited for passes by the other clock: not for ever.
class StandingClock final : public ManualClock {
 public:
  std::chrono::system_clock::time_point now() override { return stands_at_; }
  void sleep_for(std::chrono::nanoseconds duration) override {
    if (steady_now() - begin_ > 1h) throw std::runtime_error("an hour was waited for");
    ManualClock::sleep_for(std::max<std::chrono::nanoseconds>(duration, 1ms));
  }

 private:
  const std::chrono::system_clock::time_point stands_at_ = ManualClock::now();
  const std::chrono::steady_clock::time_point begin_ = steady_now();
};

/// While somebody sleeps, others do something.
class CrowdedClock final : public ManualClock {
 public:
  void sleep_for(std::chrono::nanoseconds duration) override {
    ManualClock::sleep_for(duration);
    on_sleep();
  }
  std::function<void()> on_sleep = [] {};
};

/// It is set as soon as this thread looks how long it may wait.
class TurnedClock final : public ManualClock {
 public:
  std::chrono::steady_clock::time_point steady_now() override {
    if (std::this_thread::get_id() == thread_)
      set_back(std::exchange(is_ahead_by, std::chrono::system_clock::duration::zero()));
    return ManualClock::steady_now();
  }
  std::chrono::system_clock::duration is_ahead_by{};

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
};

/// One that was a second ahead: it is set while somebody sleeps.
class CorrectedClock final : public ManualClock {
 public:
  void sleep_for(std::chrono::nanoseconds duration) override {
    ManualClock::sleep_for(duration);
    if (std::exchange(is_wrong, false)) set_back(1s);
  }
  bool is_wrong = false;
};

}  // namespace

TEST_CASE("generator: a clock that stands still is waited for no longer than a call may take") {
  const SqliteStore file;
  StandingClock clock;
  auto store = file.options();
  store.clock = &clock;
  auto options = owned_by("a");
  options.timeout = 4500ms;
  SUBCASE("in a unit of a millisecond") {}
  const auto begin_unit_of_an_hour = [&](std::chrono::milliseconds before) {
    const std::string begin = std::to_string(ms_of(clock.now() - before));
    file.open().set_layout(Layout::parse("31,10,22/1h@" + begin));
    options.worker.window = 2h;
  };
  SUBCASE("in a unit of an hour, a second before its end") {
    begin_unit_of_an_hour(1h - 1s);
  }
  SUBCASE("in a unit of an hour, three seconds before its end") {
    begin_unit_of_an_hour(1h - 3s);
  }
  SnowflakeGenerator generator(store, options);
  const auto begun = clock.steady_now();
  CHECK(error_text([&] { draw(generator, 5000); }).starts_with("the clock stands still at 20"));
  CHECK(clock.steady_now() - begun < 6s);
}

TEST_CASE(
    "generator: units that others use up one after the other are waited for no longer than a call may take") {
  const SqliteStore file;
  file.open().set_layout(Layout::parse("sonyflake"));  // 256 IDs in 10 ms
  const leaf::test::TestHost host;
  CrowdedClock clock;
  auto store = file.options();
  store.clock = &clock;
  auto options = owned_by("a");
  options.timeout = 50ms;
  options.host = host.host_options();
  SnowflakeGenerator late(store, options), quick(store, options);
  int units = 0;
  const auto use_up_a_unit = [&] {
    std::vector<std::int64_t> ids(256);
    if (units < 100 && quick.try_next(ids) > 0) ++units;
  };
  use_up_a_unit();
  clock.on_sleep = use_up_a_unit;
  const auto begun = clock.steady_now();
  CHECK(error_code([&] { late.next(); }) == ErrorCode::unavailable);
  CHECK(clock.steady_now() - begun <= 60ms);
  CHECK(units > 2);
}

TEST_CASE(
    "generator: where a clock that was ahead is set while a window is waited for, none is leased ahead") {
  const SqliteStore file;
  TurnedClock clock;
  auto store = file.options();
  store.clock = &clock;
  auto options = owned_by("a");
  options.timeout = 5s;
  SnowflakeGenerator generator(store, options);
  generator.next();
  clock.set_back(-2h);
  clock.is_ahead_by = 2h;
  CHECK_NOTHROW(generator.next());
  CHECK(file.open().workers().at(0).window_end <=
        leaf::UnixTime(std::chrono::milliseconds(ms_of(clock.now() + 30min))));
}

TEST_CASE("generator: a clock that is set back while the next unit is waited for is not waited for") {
  const SqliteStore file;
  CorrectedClock clock;
  auto store = file.options();
  store.clock = &clock;
  auto options = owned_by("a");
  options.timeout = 500ms;  // less than it is set back by
  SnowflakeGenerator generator(store, options);
  clock.is_wrong = true;
  std::vector<std::int64_t> ids;
  CHECK_NOTHROW(ids = draw(generator, 5000));
  CHECK_FALSE(clock.is_wrong);
  CHECK(strictly_increasing(ids));
}

TEST_CASE("generator: windows that are over before they come are asked for no longer than the timeout") {
  leaf::test::SqliteStore file;
  HastyClock clock;
  leaf::StoreOptions store = file.options();
  store.clock = &clock;
  SnowflakeOptions options = owned_by("a");
  options.worker.window = 10ms;
  const leaf::test::TestHost host;
  for (const auto timeout : {1s, 0s}) {
    for (const bool is_shared : {false, true}) {
      options.timeout = timeout;
      options.host.reset();
      if (is_shared) options.host = host.host_options();
      SnowflakeGenerator generator(store, options);
      clock.passes = 20ms;
      const auto before = clock.steady_now();
      CHECK(error_text([&] { generator.next(); }) ==
            "windows of 10ms are over before they come from the store | lease longer ones");
      CHECK(clock.steady_now() - before < 2s);
      clock.passes = 0ms;
    }
  }
  options.host.reset();
  options.worker.window = 1s;
  SnowflakeGenerator generator(store, options);
  clock.passes = 20ms;
  CHECK_NOTHROW(generator.next());
}
