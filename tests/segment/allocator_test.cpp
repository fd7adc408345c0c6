#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <filesystem>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "leaf/host.hpp"
#include "leaf/segment.hpp"
#include "support/bitmap.hpp"
#include "support/error_of.hpp"
#include "support/is_asleep.hpp"
#include "support/manual_clock.hpp"
#include "support/number_of_parent.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"
#include "support/wait_for.hpp"
#include "support/working_folder.hpp"

using namespace std::chrono_literals;
using leaf::Error;
using leaf::ErrorCode;
using leaf::Range;
using leaf::SegmentAllocator;
using leaf::Store;
using leaf::TagName;
using leaf::test::add_tag;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::SqliteStore;
using leaf::test::wait_for;

namespace {

/// Holds the write lock of a SQLite file, as another process would.
class WriteLock {
 public:
  explicit WriteLock(const std::string& path) : session_(path) { REQUIRE(session_.run("BEGIN IMMEDIATE")); }
  void release() { session_.close(); }

 private:
  leaf::test::SqliteSession session_;
};

/// Has something happen once, when it is looked at next.
class InterruptedClock final : public leaf::test::ManualClock {
 public:
  std::chrono::steady_clock::time_point steady_now() override {
    if (const auto now_happens = std::exchange(happens, nullptr)) now_happens();
    return ManualClock::steady_now();
  }

  std::function<void()> happens;
};

}  // namespace

TEST_CASE("allocator: the first ID is the tag's start, and IDs follow without a gap over many segments") {
  SqliteStore store;
  leaf::Store admin = store.open();
  admin.add_tag({.name = TagName("order"), .step = 7, .start = 42});
  SegmentAllocator allocator(store.options());
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  for (std::int64_t expected = 42; expected < 1042; ++expected) CHECK(tag.next() == expected);
  CHECK(tag.supply().first == 42);
}

TEST_CASE(
    "allocator: to try for a run takes what is in memory, asks for more in time, and waits for nothing") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 10);
  SegmentAllocator allocator(store.options());
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(tag.try_next_range(5).empty());
  CHECK(tag.next() == 1);
  CHECK(tag.try_next_range(5) == Range{2, 7});
  REQUIRE(wait_for([&] { return admin.tag(TagName("order")).next_id > 11; }));
  CHECK(tag.try_next_range(100) == Range{7, 11});
  std::int64_t last = 10;
  CHECK(wait_for([&] {
    const Range range = tag.try_next_range(1);
    if (!range.empty()) {
      CHECK(range.lo == last + 1);
      last = range.lo;
    }
    return last >= 100;
  }));
}

TEST_CASE("allocator: to try for a run asks for the next segment once the run comes to a tenth, not later") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 100);
  SegmentAllocator allocator(store.options());
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(tag.next() == 1);
  CHECK(tag.try_next_run(8) == Range{2, 10});
  CHECK(admin.tag(TagName("order")).next_id == 101);
  CHECK(tag.try_next_run(1) == Range{10, 11});
  CHECK(wait_for([&] { return admin.tag(TagName("order")).next_id > 101; }));
}

TEST_CASE("allocator: to try for a run that does not fit takes nothing") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 10);
  SegmentAllocator allocator(store.options(), {.max_step = 10, .max_starved_step = 10});
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(tag.next() == 1);
  REQUIRE(wait_for([&] { return tag.buffered() == 19; }));
  CHECK(tag.try_next_run(11).empty());
  CHECK(tag.next() == 2);
  CHECK(tag.try_next_run(10) == Range{11, 21});
}

TEST_CASE(
    "allocator: to try for an ID goes on in the next segment, and asks for nothing where there is none") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 10);
  SegmentAllocator allocator(store.options(), {.max_step = 10, .max_starved_step = 10});
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  std::int64_t id = 0;
  CHECK_FALSE(tag.try_next(id));
  CHECK(admin.tag(TagName("order")).next_id == 1);
  CHECK(tag.next() == 1);
  for (std::int64_t expected = 2; expected <= 25; ++expected) {
    CHECK(wait_for([&] { return tag.buffered() > 0; }));
    REQUIRE(tag.try_next(id));
    CHECK(id == expected);
  }
}

TEST_CASE("allocator: two threads that try for runs at once get each ID once") {
  constexpr std::size_t threads = 2, per_thread = 500'000;
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 1'000'000);
  SegmentAllocator allocator(store.options());
  std::barrier start(threads);
  std::vector<std::vector<Range>> drawn(threads);
  {
    std::vector<std::jthread> drawers;
    for (std::vector<Range>& runs : drawn) {
      drawers.emplace_back([&] {
        leaf::SegmentTag tag = allocator.tag(TagName("order"));
        runs.reserve(per_thread);
        start.arrive_and_wait();
        while (runs.size() < per_thread) {
          const Range run = tag.try_next_run(1 + runs.size() % 3);
          runs.push_back(run.empty() ? tag.next_range(1) : run);
        }
      });
    }
  }
  std::vector<Range> all;
  for (const std::vector<Range>& runs : drawn) all.insert(all.end(), runs.begin(), runs.end());
  std::ranges::sort(all, {}, &Range::lo);
  const auto repeats = [](Range one, Range next) { return next.lo < one.hi; };
  CHECK(std::ranges::adjacent_find(all, repeats) == all.end());
}

TEST_CASE("allocator: a batch may span segments and comes in as few ranges as it can") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 10);
  SegmentAllocator allocator(store.options());
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(tag.next_ranges(25) == std::vector<Range>{{1, 26}});
  admin.grant(TagName("order"), 1000);  // somebody else draws
  const auto ranges = tag.next_ranges(100);
  CHECK(ranges.size() == 2);
  CHECK(std::accumulate(ranges.begin(), ranges.end(), std::uint64_t{0},
                        [](std::uint64_t sum, Range range) { return sum + range.size(); }) == 100);
  CHECK(ranges.front().lo == 26);
  CHECK(ranges.back().lo > 1000);

  std::vector<std::int64_t> ids(64);
  tag.next(ids);
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  CHECK(ids.front() >= ranges.back().hi);
}

TEST_CASE("allocator: an array is filled to its end, also where somebody else draws between two segments") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 10);
  SegmentAllocator allocator(store.options(), {.max_step = 10, .max_starved_step = 10});
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(tag.next() == 1);
  admin.grant(TagName("order"), 1000);
  std::vector<std::int64_t> ids(64);
  tag.next(ids);
  CHECK(ids.front() == 2);
  CHECK(ids.back() > 1000);
  CHECK(std::ranges::is_sorted(ids, std::ranges::less_equal()));
}

TEST_CASE("allocator: threads with handles of their own get each ID once, and each thread in order") {
  constexpr int threads = 4, per_thread = 50'000;
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 100);
  SegmentAllocator allocator(store.options());
  leaf::test::Bitmap seen(8'000'000);
  std::atomic<int> repeated{0}, out_of_order{0};
  std::vector<std::jthread> drawers;
  for (int t = 0; t < threads; ++t) {
    drawers.emplace_back([&] {
      leaf::SegmentTag tag = allocator.tag(TagName("order"));
      std::int64_t last = 0;
      for (int i = 0; i < per_thread; ++i) {
        const std::int64_t id = tag.next();
        if (!seen.insert(id)) ++repeated;
        if (id <= last) ++out_of_order;
        last = id;
      }
    });
  }
  drawers.clear();
  CHECK(repeated == 0);
  CHECK(out_of_order == 0);
  // What the store granted is what was handed out, and at most two segments more.
  CHECK(admin.tag(TagName("order")).next_id - 1 >= threads * per_thread);
}

TEST_CASE("allocator: a thread that asks for a tag waits until another one has its") {
  const SqliteStore store;
  InterruptedClock clock;
  auto options = store.options();
  options.clock = &clock;
  SegmentAllocator allocator(options);
  std::jthread other;
  std::atomic<bool> has_tag = false;
  clock.happens = [&] {
    std::atomic<pid_t> asks = 0;
    other = std::jthread([&allocator, &has_tag, &asks] {
      asks = gettid();
      allocator.tag(TagName("order"));
      has_tag = true;
    });
    CHECK(wait_for([&] { return has_tag || (asks != 0 && leaf::test::is_asleep(asks)); }));
    CHECK_FALSE(has_tag);
  };
  allocator.tag(TagName("order"));
  CHECK_FALSE(clock.happens);
  other.join();
  CHECK(has_tag);
}

TEST_CASE("allocator: the next segment is fetched when a tenth is used, and not before") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 1000);
  SegmentAllocator allocator(store.options());
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  for (int i = 0; i < 99; ++i) tag.next();
  CHECK(admin.tag(TagName("order")).next_id == 1001);
  tag.next();
  REQUIRE(wait_for([&] { return admin.tag(TagName("order")).next_id != 1001; }));
  CHECK(admin.tag(TagName("order")).next_id == 2001);
}

TEST_CASE("allocator: a fetch that several threads ask for at once leaves no segment out") {
  constexpr int threads = 4, rounds = 30, step = 10;
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", step);
  SegmentAllocator allocator(store.options(), {.max_step = step, .max_starved_step = step});
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  std::int64_t next = 1;
  CHECK(tag.next() == next++);
  for (int round = 0; round < rounds; ++round) {
    std::barrier begin(threads);
    std::vector<std::jthread> callers;
    for (int t = 0; t < threads; ++t) {
      callers.emplace_back([&] {
        begin.arrive_and_wait();
        tag.fetch();
      });
    }
    callers.clear();
    for (int i = 0; i < step; ++i) REQUIRE(tag.next() == next++);
  }
}

TEST_CASE("allocator: a tag whose fetch does not end keeps no other tag waiting") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 10);
  leaf::test::ManualClock clock;  // no call ends for its timeout
  auto options = store.options();
  options.clock = &clock;
  std::latch is_at_it(1), let_go(1);
  SegmentAllocator allocator(options, {.on_fetch_failure = [&](const TagName&, const Error&) {
                               is_at_it.count_down();
                               let_go.wait();
                             }});
  const auto draw = [&](const char* tag) {
    return std::async(std::launch::async, [&allocator, tag] { return allocator.tag(TagName(tag)).next(); });
  };
  auto missing = draw("missing");
  is_at_it.wait();
  auto order = draw("order");
  const bool has_come = order.wait_for(leaf::test::patience) == std::future_status::ready;
  let_go.count_down();
  CHECK(has_come);
  CHECK(order.get() == 1);
  CHECK(error_code([&] { missing.get(); }) == ErrorCode::not_found);
}

TEST_CASE("allocator: one that ends while a fetch does not keeps what the fetch works on") {
  const SqliteStore store;
  const leaf::test::TemporaryFolder folder;
  leaf::test::ManualClock clock;  // nobody looks for another store meanwhile
  auto options = store.options();
  options.clock = &clock;
  options.marks = leaf::host_marks({.folder = folder.path() / "run"});  // each tag has hold of them
  std::latch is_at_it(1);
  std::atomic<pid_t> ends{0};
  long in_use = 0, in_use_at_end = 0;
  auto allocator = std::make_unique<SegmentAllocator>(
      options, leaf::SegmentOptions{.on_fetch_failure = [&](const TagName&, const Error&) {
        in_use = options.marks.use_count();
        is_at_it.count_down();
        CHECK(wait_for([&] { return ends != 0 && leaf::test::is_asleep(ends); }));
        in_use_at_end = options.marks.use_count();
      }});
  CHECK(allocator->tag(TagName("missing")).try_next_range(1).empty());
  is_at_it.wait();
  std::thread([&] {
    ends = gettid();
    allocator.reset();
  }).join();
  CHECK(in_use_at_end == in_use);
}

TEST_CASE("allocator: quick segments grow by Leaf's rule") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 100);
  leaf::test::ManualClock clock;
  auto options = store.options();
  options.clock = &clock;
  SegmentAllocator allocator(options, {.max_step = 400});
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  const auto used_up_at = [&](std::int64_t next_id) {
    REQUIRE(wait_for([&] { return admin.tag(TagName("order")).next_id >= next_id; }));
    return admin.tag(TagName("order")).next_id;
  };
  tag.next_range(10);             // segment 1, [1, 101): the mark is reached
  CHECK(used_up_at(201) == 201);  // segment 2 has the tag's step too
  while (tag.next() < 110) {
  }                               // the mark of segment 2
  CHECK(used_up_at(401) == 401);  // 200
  while (tag.next() < 220) {
  }                               // the mark of segment 3
  CHECK(used_up_at(801) == 801);  // 400, the maximum
  clock.advance(20min);
  while (tag.next() < 441) {
  }
  CHECK(used_up_at(1201) == 1201);  // kept
  clock.advance(31min);
  while (tag.next() < 841) {
  }
  CHECK(used_up_at(1401) == 1401);  // halved
}

TEST_CASE("allocator: an unknown tag is not_found at once, and is served as soon as it was added") {
  SqliteStore store;
  SegmentAllocator allocator(store.options());
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(error_code([&] { tag.next(); }) == ErrorCode::not_found);
  leaf::Store admin = store.open();
  add_tag(admin, "order", 10);
  CHECK(tag.next() == 1);
}

TEST_CASE("allocator: what is left is what the store has left and what is buffered") {
  SqliteStore file;
  leaf::Store admin = file.open();
  admin.add_tag({.name = TagName("order"), .step = 10, .limit = 15});
  SegmentAllocator allocator(file.options(), {});
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(tag.next_range(10).size() == 10);
  CHECK(tag.left() == 5);
  CHECK(tag.next() == 11);
  CHECK(tag.left() == 4);
}

TEST_CASE("allocator: a limit is served to its last ID and then exhausted, until it is raised") {
  SqliteStore store;
  leaf::Store admin = store.open();
  admin.add_tag({.name = TagName("order"), .step = 10, .limit = 25});
  SegmentAllocator allocator(store.options());
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  for (std::int64_t expected = 1; expected <= 25; ++expected) CHECK(tag.next() == expected);
  CHECK(error_code([&] { tag.next(); }) == ErrorCode::exhausted);
  admin.update_tag(TagName("order"), {.limit = 26});
  CHECK(tag.next() == 26);
  CHECK(error_code([&] { tag.next_range(5); }) == ErrorCode::exhausted);
}

namespace {

/// How long the first six segments of a tag with that step are if each is taken as a whole, so that the next
/// one is waited for.
std::vector<std::uint64_t> starved_segments(std::int64_t step, leaf::SegmentOptions segments) {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", step);
  leaf::test::ManualClock clock;
  auto options = store.options();
  options.clock = &clock;
  const leaf::test::TemporaryFolder folder;
  if (segments.host) segments.host = leaf::HostOptions{.folder = folder.path() / "run", .fetch_ahead = false};
  SegmentAllocator allocator(options, segments);
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  std::vector<std::uint64_t> lengths;
  for (int i = 0; i < 6; ++i) lengths.push_back(tag.next_range(UINT32_MAX).size());
  return lengths;
}

}  // namespace

TEST_CASE("allocator: segments that do not last for a fetch grow beyond Leaf's maximum, in whatever memory") {
  using Lengths = std::vector<std::uint64_t>;
  leaf::SegmentOptions segments;
  SUBCASE("a process's") {}
  SUBCASE("a host's") {
    segments.host.emplace();
  }
  CHECK(starved_segments(leaf::max_step, segments) ==
        Lengths{1'000'000, 1'000'000, 2'000'000, 4'000'000, 8'000'000, 16'000'000});
  segments.max_starved_step = 5'000'000;
  CHECK(starved_segments(leaf::max_step, segments) ==
        Lengths{1'000'000, 1'000'000, 2'000'000, 4'000'000, 5'000'000, 5'000'000});
  // A bound that was set is kept.
  CHECK(starved_segments(100, {.max_step = 300, .host = segments.host}) ==
        Lengths{100, 100, 200, 300, 300, 300});
}

TEST_CASE("allocator: a removed tag ends with the buffer, and comes back above it") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 10);
  SegmentAllocator allocator(store.options());
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(tag.next() == 1);
  REQUIRE(wait_for([&] { return admin.tag(TagName("order")).next_id != 11; }));
  admin.remove_tag(TagName("order"));
  for (std::int64_t expected = 2; expected <= 20; ++expected) CHECK(tag.next() == expected);
  CHECK(error_code([&] { tag.next(); }) == ErrorCode::not_found);
  add_tag(admin, "order", 10);
  CHECK(tag.next() == 21);
}

TEST_CASE("allocator: a tag that was removed and added again gives nothing of before once it has granted") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const TagName order("order");
  add_tag(admin, "order", 10);
  SegmentAllocator allocator(store.options());
  leaf::SegmentTag tag = allocator.tag(order);
  CHECK(tag.next() == 1);
  REQUIRE(wait_for([&] { return admin.tag(order).next_id != 11; }));
  admin.remove_tag(order);
  add_tag(admin, "order", 10);
  for (std::int64_t expected = 2; expected <= 11; ++expected) CHECK(tag.next() == expected);
  REQUIRE(wait_for([&] { return tag.left() == leaf::max_id - 20; }));  // the third segment is in place
  CHECK(tag.next() == 21);
}

TEST_CASE("allocator: a store that another one takes the place of gives nothing more once that has granted") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const TagName order("order");
  add_tag(admin, "order", 10);
  // As a restored one, with the same deployment and tag.
  auto other = store.options();
  other.url += ".copy";
  std::filesystem::copy_file(store.path(), store.path() + ".copy");
  leaf::Store(other).update_tag(order, {.raise_to = 5000});
  SegmentAllocator allocator(store.options());
  leaf::SegmentTag tag = allocator.tag(order);
  CHECK(tag.next() == 1);
  REQUIRE(wait_for([&] { return admin.tag(order).next_id != 11; }));
  WriteLock lock(store.path());  // of the file that goes: the third segment waits for it
  for (std::int64_t expected = 2; expected <= 11; ++expected) CHECK(tag.next() == expected);
  std::filesystem::rename(store.path() + ".copy", store.path());
  lock.release();
  REQUIRE(wait_for([&] { return tag.left() <= leaf::max_id - 4000; }));  // the next segment is not in place
  CHECK(tag.next() == 5000);
}

TEST_CASE("allocator: a caller waits for a slow store until its deadline, and is served when it comes back") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 10);
  leaf::test::ManualClock clock;
  auto options = store.options();
  options.clock = &clock;
  options.timeout = 100ms;  // real time, for SQLite's lock
  std::atomic<int> failures{0};
  SegmentAllocator allocator(
      options, {.timeout = 5s, .max_connections = 1, .on_fetch_failure = [&](const TagName&, const Error&) {
                  ++failures;
                }});
  leaf::SegmentTag tag = allocator.tag(TagName("order"));

  WriteLock lock(store.path());
  auto refused = std::async(std::launch::async, [&] { return error_of([&] { tag.next(); }); });
  REQUIRE(wait_for([&] { return failures != 0; }));
  // The caller, and both threads of the fetcher: none of them is at an attempt.
  clock.wait_for_sleepers(3);
  clock.advance(5s);
  const Error timed_out = refused.get();
  CHECK(timed_out.code() == ErrorCode::unavailable);
  CHECK(std::string(timed_out.what()).starts_with("could not fetch a segment of tag 'order' within 5s: "));

  auto served = std::async(std::launch::async, [&] { return tag.next(); });
  clock.wait_for_sleepers(3);
  lock.release();
  clock.advance(2s);
  CHECK(served.get() == 1);
}

TEST_CASE(
    "allocator: while the store is down IDs are served from the buffer, and it is asked with growing "
    "pauses") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 100);
  leaf::test::ManualClock clock;
  auto options = store.options();
  options.clock = &clock;
  options.timeout = 1ms;
  std::atomic<int> failures{0};
  SegmentAllocator allocator(
      options,
      {.timeout = 1h, .max_connections = 1, .on_fetch_failure = [&](const TagName&, const Error& error) {
         CHECK(error.retryable());
         ++failures;
       }});
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(tag.next() == 1);

  WriteLock lock(store.path());
  for (std::int64_t expected = 2; expected <= 100; ++expected) CHECK(tag.next() == expected);
  REQUIRE(wait_for([&] { return failures != 0; }));
  clock.wait_for_sleepers(2);  // both threads of the fetcher
  CHECK(failures == 1);
  for (int pause_ms : {100, 200, 400, 800, 1600, 2000, 2000}) {
    const int before = failures;
    clock.advance(std::chrono::milliseconds(pause_ms * 3 / 4 - 1));
    clock.wait_for_sleepers(2);  // the fetcher has looked at the clock, and at the store if it was time
    CHECK(failures == before);
    clock.advance(std::chrono::milliseconds(pause_ms - pause_ms * 3 / 4 + 1));
    REQUIRE(wait_for([&] { return failures != before; }));
    clock.wait_for_sleepers(2);
  }
  lock.release();
  clock.advance(2s);
  CHECK(tag.next() == 101);
}

TEST_CASE("allocator: invalid options are refused before anything is opened") {
  CHECK(error_code([] { SegmentAllocator({.url = "mysql://x"}); }) == ErrorCode::usage);
  CHECK(error_code([] { SegmentAllocator({.url = "sqlite:/x"}, {.max_step = 0}); }) == ErrorCode::usage);
  CHECK(error_code([] { SegmentAllocator({.url = "sqlite:/x"}, {.max_step = 1'000'001}); }) ==
        ErrorCode::usage);
  CHECK(error_code([] { SegmentAllocator({.url = "sqlite:/x"}, {.max_connections = 0}); }) ==
        ErrorCode::usage);
  CHECK(error_code([] { SegmentAllocator({.url = "sqlite:/x"}, {.timeout = -1ms}); }) == ErrorCode::usage);
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{UINT32_MAX}}) {
    CHECK(error_code([&] { SegmentAllocator({.url = "sqlite:/x"}, {.max_starved_step = step}); }) ==
          ErrorCode::usage);
  }
}

TEST_CASE("allocator: of no IDs there are none, and nothing is asked for") {
  SegmentAllocator allocator({.url = "sqlite:/nowhere/leaf.db"});
  CHECK(allocator.tag(TagName("order")).next_ranges(0).empty());
}

TEST_CASE("allocator: a store without tables is named, and a range of nothing refused") {
  leaf::test::TemporaryFolder folder;
  SegmentAllocator allocator({.url = "sqlite:" + (folder.path() / "none.db").string()});
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(error_code([&] { tag.next(); }) == ErrorCode::usage);
  CHECK(error_code([&] { tag.next_range(0); }) == ErrorCode::usage);
}

TEST_CASE("allocator: a tag that does not exist is not asked for again until somebody calls") {
  SqliteStore store;
  leaf::test::ManualClock clock;
  auto options = store.options();
  options.clock = &clock;
  std::atomic<int> failures{0};
  SegmentAllocator allocator(options,
                             {.on_fetch_failure = [&](const TagName&, const Error&) { ++failures; }});
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(error_code([&] { tag.next(); }) == ErrorCode::not_found);
  CHECK(failures == 1);
  clock.advance(10min);
  CHECK(error_code([&] { tag.next(); }) == ErrorCode::not_found);
  CHECK(failures == 2);
}

TEST_CASE(
    "allocator: a tag that was taken over with a longer step than can be set is served over many segments") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 1000);
  leaf::test::SqliteSession other(store.path());
  REQUIRE(other.run("UPDATE leaf_alloc SET step = 4294967295"));
  SegmentAllocator allocator(store.options());
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  CHECK(tag.next_ranges(9'000'000'000) == std::vector<Range>{{1, 9'000'000'001}});
  REQUIRE(other.run("UPDATE leaf_alloc SET step = 4294967296"));
  CHECK(error_code([&] { tag.next_ranges(9'000'000'000); }) == ErrorCode::failed);
}

TEST_CASE("allocator: a relative path keeps its meaning when the working folder changes") {
  const SqliteStore file;
  {
    Store store = file.open();
    add_tag(store, "order", 10);
  }
  leaf::StoreOptions options;
  options.url = "sqlite:leaf.db";
  const leaf::test::WorkingFolder there(std::filesystem::path(file.path()).parent_path());
  SegmentAllocator allocator(options, {});
  const leaf::test::WorkingFolder elsewhere("/");
  auto order = allocator.tag(TagName("order"));
  for (std::int64_t id = 1; id <= 30; ++id) CHECK(order.next() == id);
}

TEST_CASE("allocator: without a timeout the store is tried once, and nothing waits for its return") {
  SqliteStore store;
  leaf::Store admin = store.open();
  add_tag(admin, "order", 10);
  leaf::test::ManualClock clock;
  auto options = store.options();
  options.clock = &clock;
  options.timeout = 100ms;  // real time, for SQLite's lock
  SegmentAllocator allocator(options, {.timeout = 0ms});
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  const auto begun = clock.steady_now();
  {
    WriteLock lock(store.path());
    for (int call = 0; call < 2; ++call) {
      const Error refused = error_of([&] { tag.next(); });
      CHECK(refused.code() == ErrorCode::unavailable);
      CHECK(std::string(refused.what()).find("locked by another process") != std::string::npos);
      CHECK(std::string(refused.what()).find("could not fetch") == std::string::npos);
    }
  }
  CHECK(tag.next() == 1);
  CHECK(clock.steady_now() == begun);
}

TEST_CASE("allocator: a child of a fork ends it without waiting for the threads of the parent") {
  const leaf::test::SqliteStore file;
  Store admin = file.open();
  leaf::test::add_tag(admin, "order", 10);
  auto allocator = std::make_unique<SegmentAllocator>(file.options());
  auto tag = allocator->tag(TagName("order"));
  const std::int64_t first = tag.next();
  std::optional<leaf::test::NumberOfParent> alike;
  SUBCASE("with a PID of its own") {}
  SUBCASE("with its parent's") {
    alike.emplace();
  }
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    allocator.reset();
    _exit(0);
  }
  int status = -1;
  const bool has_ended = leaf::test::wait_for([&] { return waitpid(child, &status, WNOHANG) == child; });
  if (!has_ended) kill(child, SIGKILL);
  CHECK(has_ended);
  CHECK(status == 0);
  CHECK(tag.next() == first + 1);
}
