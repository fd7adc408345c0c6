#include "range/own_ranges.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <latch>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/error_of.hpp"
#include "support/is_asleep.hpp"
#include "support/manual_clock.hpp"
#include "support/no_descriptors.hpp"
#include "support/process.hpp"
#include "support/refused_allocations.hpp"
#include "support/sqlite_store.hpp"
#include "support/wait_for.hpp"

using namespace std::chrono_literals;
using leaf::Error;
using leaf::ErrorCode;
using leaf::Range;
using leaf::Store;
using leaf::StoreIdentity;
using leaf::UnixTime;
using leaf::range::Fetcher;
using leaf::range::Filled;
using leaf::range::Granted;
using leaf::range::Granter;
using leaf::range::OwnRanges;
using leaf::test::error_code;
using leaf::test::ManualClock;
using leaf::test::SqliteStore;

namespace {

/// Grants ranges by a function.
class MadeUp final : public Granter {
 public:
  explicit MadeUp(
      std::function<Granted()> next,
      std::function<bool(UnixTime)> still_serves = [](UnixTime) { return false; })
      : next_(std::move(next)), still_serves_(std::move(still_serves)) {}
  std::string name() const override { return "ranges"; }
  std::string what() const override { return "range"; }
  Granted grant(Store&, const Filled&) const override { return next_(); }
  bool still_serves(const leaf::range::DoubleBuffer&, const std::string&, UnixTime time) const override {
    return still_serves_(time);
  }

 private:
  const std::function<Granted()> next_;
  const std::function<bool(UnixTime)> still_serves_;
};

/// After a first range each fetch fails with the given code; the first to fail waits until it is let go.
struct Failing {
  Granted next(ErrorCode code) {
    const int number = fetches++;
    if (number == 0) return {.range = {1, 2}, .mark = 1, .store = {}, .origin = "o", .record = {}};
    if (number == 1) {
      begun.count_down();
      let_go.wait();
    }
    throw Error(code, "attempt " + std::to_string(number));
  }

  std::atomic<int> fetches{0};
  std::latch begun{1};
  std::latch let_go{1};
};

void await(Fetcher& fetcher, leaf::range::RangeSource& source, const std::function<bool()>& ready,
           leaf::range::CallDeadline deadline = {}) {
  fetcher.await(source, ready, deadline);
}

/// Ranges of ten, with a mark at the first, whose questions to the store do something before they are over.
class Interrupted final : public leaf::range::RangeSource {
 public:
  explicit Interrupted(Fetcher& fetcher)
      : RangeSource(std::make_unique<MadeUp>([] { return Granted{}; })), fetcher_(fetcher) {
    draw_from(ranges_);
  }
  leaf::range::GrantRecord record() const override { return {}; }
  std::string origin() const override { return {}; }
  StoreIdentity granted_by() const override { return {}; }
  std::uint64_t store_changes() const noexcept override { return 0; }
  void await(const std::function<bool()>& ready, leaf::range::CallDeadline& deadline) override {
    fetcher_.await(*this, ready, deadline);
  }
  void request_fetch() override { fetcher_.request(*this); }
  void fetch() override {}
  void fetch(Store&, bool) override {
    const std::int64_t lo = 1 + 10 * fetches;
    ranges_.publish({lo, lo + 10}, 1, 0, ranges_.next_turn());
    ++fetches;
    at_the_end();
  }
  bool check() override {
    ++checks;
    in_check();
    return asks_for_name;
  }
  void check_name(Store&) override {
    ++name_checks;
    at_the_end();
  }

  std::atomic<int> fetches{0}, checks{0}, name_checks{0};
  std::atomic<bool> asks_for_name{false};
  std::function<void()> at_the_end = [] {};
  std::function<void()> in_check = [] {};

 private:
  Fetcher& fetcher_;
  leaf::range::DoubleBuffer ranges_;
};

/// Such a source and its fetcher, by a clock that the test sets.
struct Watched {
  explicit Watched(int threads)
      : fetcher(options(), {.timeout = 1h, .max_threads = threads, .on_failure = {}}) {}
  leaf::StoreOptions options() {
    leaf::StoreOptions options = file.options();
    options.clock = &clock;
    return options;
  }

  const SqliteStore file;
  ManualClock clock;
  std::optional<Interrupted> made;  ///< outlives its fetcher
  Fetcher fetcher;
  Interrupted& source = made.emplace(fetcher);
};

/// What a caller is told who comes while the first attempt is under way. Time stands still.
std::optional<ErrorCode> told_during_an_attempt(ErrorCode failure, std::chrono::milliseconds timeout) {
  const SqliteStore file;
  ManualClock clock;
  auto options = file.options();
  options.clock = &clock;
  Failing failing;
  std::optional<OwnRanges> source;
  Fetcher fetcher(options, {.timeout = timeout, .max_threads = 1, .on_failure = {}});
  source.emplace(std::make_unique<MadeUp>([&] { return failing.next(failure); }), options, fetcher);
  source->fetch();
  source->buffer().advance(source->buffer().view());  // there is an ID to bridge the time with
  fetcher.request(*source);
  failing.begun.wait();
  auto told = std::async(std::launch::async,
                         [&] { return error_code([&] { await(fetcher, *source, [] { return false; }); }); });
  clock.wait_for_sleepers(1);
  failing.let_go.count_down();
  if (told.wait_for(60s) != std::future_status::ready) {
    clock.advance(timeout + 1h);  // it waits for a time that nobody promised
    told.wait();
    return std::nullopt;
  }
  CHECK(failing.fetches == 3);
  return told.get();
}

}  // namespace

TEST_CASE("fetcher: who comes during an attempt that fails has another one made, not the pause waited for") {
  CHECK(told_during_an_attempt(ErrorCode::unavailable, 0ms) == ErrorCode::unavailable);
  CHECK(told_during_an_attempt(ErrorCode::not_found, 5s) == ErrorCode::not_found);
}

TEST_CASE(
    "fetcher: what is buffered is given up once its store's name leads elsewhere, looked at each minute") {
  const SqliteStore file;
  Store here = file.open();
  ManualClock clock;
  auto options = file.options();
  options.clock = &clock;
  const auto left_after = [&](const StoreIdentity& granted_by) {
    std::optional<OwnRanges> source;
    Fetcher fetcher(options, {.timeout = 1s, .max_threads = 1, .on_failure = {}});
    const auto grant = [&] {
      return Granted{.range = {1, 101}, .mark = 50, .store = granted_by, .origin = "o", .record = {}};
    };
    source.emplace(std::make_unique<MadeUp>(grant), options, fetcher);
    const std::uint64_t store_changes = source->store_changes();
    source->fetch();
    source->buffer().advance(source->buffer().view());
    const auto check = [&] {
      if (source->check()) source->check_name(here);
    };
    check();
    source->buffer().take(1);
    clock.advance(leaf::range::name_lasts);
    check();
    source->buffer().take(1);
    CHECK_FALSE(source->check());  // once a minute
    CHECK(source->buffer().view().rest.empty() == (granted_by != here.identity()));
    CHECK((source->store_changes() != store_changes) == (granted_by != here.identity()));
    return source->buffer().view().rest.size();
  };
  CHECK(left_after(here.identity()) == 98);
  auto copy = here.identity();
  copy.copy = "elsewhere";
  CHECK(left_after(copy) == 0);
}

TEST_CASE("fetcher: what a store has granted and nobody drawn is drawn on once its name leads there again") {
  const SqliteStore file, another;
  Store here = file.open(), elsewhere = another.open();
  Granted granted;
  std::optional<OwnRanges> source;
  Fetcher fetcher(file.options(), {.timeout = 1s, .max_threads = 0, .on_failure = {}});
  source.emplace(std::make_unique<MadeUp>([&] { return granted; }), file.options(), fetcher);
  const auto fetch = [&](Store& store, std::int64_t lo, std::int64_t hi) {
    granted = {.range = {lo, hi}, .mark = 1, .store = store.identity(), .origin = "o", .record = {}};
    source->fetch(store, /*is_awaited=*/true);
  };
  fetch(here, 11, 21);
  CHECK(source->take(1).lo == 11);
  source->check_name(elsewhere);
  CHECK(source->buffer().view().rest.empty());
  fetch(elsewhere, 1, 11);
  CHECK(source->take(1).lo == 1);

  SUBCASE("as a question tells") {
    source->check_name(here);
    fetch(here, 21, 31);
  }
  SUBCASE("as a grant tells, which follows on what is left") {
    fetch(here, 21, 31);
  }
  SUBCASE("as a grant tells that does not follow, and is lost") {
    fetch(here, 20, 30);
    fetch(here, 21, 31);
  }
  CHECK(source->granted_by() == here.identity());
  for (std::int64_t expected = 12; expected < 31; ++expected) CHECK(source->take(1).lo == expected);
  source->check_name(elsewhere);
  CHECK(source->take(1).lo == 2);

  // A third range has no room there, and takes none from the two.
  fetch(elsewhere, 31, 41);
  source->check_name(here);
  fetch(elsewhere, 41, 51);
  CHECK(source->take(1).lo == 3);
}

TEST_CASE(
    "fetcher: what a store has granted is looked at before it is asked for more that would take its place") {
  const SqliteStore file, another;
  Store here = file.open(), elsewhere = another.open();
  std::int64_t lo = 1;
  Store* asked = &here;
  const auto grant = [&] {
    lo += 10;
    return Granted{
        .range = {lo - 10, lo}, .mark = 1, .store = asked->identity(), .origin = "o", .record = {}};
  };
  std::optional<OwnRanges> source;
  Fetcher fetcher(file.options(), {.timeout = 1s, .max_threads = 0, .on_failure = {}});
  source.emplace(std::make_unique<MadeUp>(grant), file.options(), fetcher);
  source->fetch(here, /*is_awaited=*/false);
  CHECK(source->take(1).lo == 1);
  source->fetch(here, /*is_awaited=*/false);
  source->check_name(elsewhere);
  source->check_name(here);
  SUBCASE("which one question tells") {}
  SUBCASE("which another one confirms") {
    source->check_name(here);
  }
  source->fetch(here, /*is_awaited=*/true);  // for who has waited since before
  for (std::int64_t expected = 2; expected < 21; ++expected) CHECK(source->take(1).lo == expected);

  // Once: whoever waits beside what lies there has no use for it.
  source->fetch(here, /*is_awaited=*/false);
  CHECK(source->take(1).lo == 21);
  source->fetch(here, /*is_awaited=*/false);
  source->fetch(here, /*is_awaited=*/true);
  CHECK(source->take(1).lo == 41);
}

TEST_CASE("fetcher: who waits behind another fetch takes nothing away that this one has brought") {
  const SqliteStore file;
  Store store = file.open();
  const StoreIdentity first{.deployment = "first", .copy = {}}, second{.deployment = "second", .copy = {}};
  StoreIdentity asked = first;
  std::latch is_asked(1), answers(1);
  std::int64_t lo = 1;
  bool is_slow = false;
  const auto grant = [&] {
    if (std::exchange(is_slow, false)) {
      is_asked.count_down();
      answers.wait();
    }
    lo += 10;
    return Granted{.range = {lo - 10, lo}, .mark = 1, .store = asked, .origin = "o", .record = {}};
  };
  std::optional<OwnRanges> source;
  Fetcher fetcher(file.options(), {.timeout = 1s, .max_threads = 0, .on_failure = {}});
  source.emplace(std::make_unique<MadeUp>(grant), file.options(), fetcher);
  source->fetch(store, /*is_awaited=*/false);
  CHECK(source->take(1).lo == 1);
  SUBCASE("of the same store") {}
  SUBCASE("of the store that the name leads to now") {
    asked = second;
  }
  is_slow = true;
  std::thread faster([&] { source->fetch(store, /*is_awaited=*/true); });
  is_asked.wait();
  std::atomic<pid_t> waiting{0};
  std::thread slower([&] {
    waiting = gettid();
    source->fetch(store, /*is_awaited=*/true);
  });
  const bool waits = leaf::test::wait_for([&] { return waiting != 0 && leaf::test::is_asleep(waiting); });
  answers.count_down();
  faster.join();
  slower.join();
  CHECK(waits);
  CHECK(lo == 21);
}

TEST_CASE("fetcher: all who wait are told of what one fetch has brought") {
  constexpr int callers = 3;
  const SqliteStore file;
  ManualClock clock;
  auto options = file.options();
  options.clock = &clock;
  std::latch let_go(1);
  std::optional<OwnRanges> source;
  Fetcher fetcher(options, {.timeout = 1h, .max_threads = 1, .on_failure = {}});
  source.emplace(std::make_unique<MadeUp>([&] {
                   let_go.wait();
                   return Granted{.range = {1, 101}, .mark = 100, .store = {}, .origin = "o", .record = {}};
                 }),
                 options, fetcher);
  std::vector<std::future<Range>> takes;
  for (int i = 0; i < callers; ++i)
    takes.push_back(std::async(std::launch::async, [&] { return source->take(1); }));
  clock.wait_for_sleepers(callers);
  let_go.count_down();
  const auto is_served = [](std::future<Range>& take) {
    return take.wait_for(0s) == std::future_status::ready;
  };
  const bool are_served = leaf::test::wait_for([&] { return std::ranges::all_of(takes, is_served); });
  clock.advance(2h);
  CHECK(are_served);
}

TEST_CASE("fetcher: who waits looks again once a check has found where the store's name leads") {
  std::latch let_go(1);
  std::atomic<bool> is_there{false};
  Watched watched(2);
  ManualClock& clock = watched.clock;
  Fetcher& fetcher = watched.fetcher;
  Interrupted& source = watched.source;
  source.at_the_end = [&] {
    if (source.name_checks == 0) return let_go.wait();  // the store is slow
    if (is_there) return;
    clock.wait_for_sleepers(2);  // who waits, and the thread that is left for checks
    is_there = true;
  };
  fetcher.watch(source);
  source.asks_for_name = true;
  auto waits =
      std::async(std::launch::async, [&] { await(fetcher, source, [&] { return is_there.load(); }); });
  REQUIRE(leaf::test::wait_for([&] { return source.fetches == 1; }));
  clock.wait_for_sleepers(2);
  clock.advance(1s);
  CHECK(waits.wait_for(leaf::test::patience) == std::future_status::ready);
  clock.advance(2h);
  let_go.count_down();
}

TEST_CASE("fetcher: who waits for an attempt is told what that one has met, not the one before") {
  std::latch has_begun(1), let_go(1);
  Watched watched(2);
  ManualClock& clock = watched.clock;
  Fetcher& fetcher = watched.fetcher;
  Interrupted& source = watched.source;
  source.at_the_end = [&] {
    if (source.name_checks > 0) return;
    if (source.fetches == 2) {
      has_begun.count_down();
      let_go.wait();
    }
    throw Error(ErrorCode::not_found, "attempt " + std::to_string(source.fetches));
  };
  source.asks_for_name = true;
  fetcher.watch(source);
  std::atomic<int> looks{0};
  const auto told = [&] {
    return std::string(
        leaf::test::error_of([&] { await(fetcher, source, [&] { return ++looks == 0; }); }).what());
  };
  CHECK(told() == "attempt 1");
  looks = 0;
  auto second = std::async(std::launch::async, told);
  has_begun.wait();
  clock.wait_for_sleepers(2);
  clock.advance(1s);  // it looks again, since there is a check
  CHECK(leaf::test::wait_for([&] { return looks > 1; }));
  let_go.count_down();
  CHECK(second.get() == "attempt 2");
}

TEST_CASE("fetcher: a range that is there already has no other one put in its place, unless one waits") {
  const SqliteStore file;
  Store store = file.open();
  std::int64_t lo = 1;
  std::optional<OwnRanges> source;
  Fetcher fetcher(file.options(), {.timeout = 1s, .max_threads = 0, .on_failure = {}});
  source.emplace(std::make_unique<MadeUp>([&] {
                   return Granted{.range = {std::exchange(lo, lo + 10), lo + 10},
                                  .mark = 1,
                                  .store = {},
                                  .origin = "o",
                                  .record = {}};
                 }),
                 file.options(), fetcher);
  source->fetch(store, /*is_awaited=*/false);
  CHECK(source->take(1).lo == 1);
  for (int i = 0; i < 4; ++i) source->fetch(store, /*is_awaited=*/false);
  CHECK(lo == 21);
  CHECK(source->take(1).lo == 2);
  source->fetch(store, /*is_awaited=*/true);
  CHECK(lo == 31);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

std::atomic<bool> threads_are_refused{false};

}  // namespace

/// In the place of the system's, which refuses threads to a user who has too many.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return threads_are_refused ? EAGAIN : real(thread, attributes, start, argument);
}

TEST_CASE("fetcher: where no thread could be started it is tried again by the next call") {
  const SqliteStore file;
  std::atomic<int> fetches{0};
  std::optional<OwnRanges> source;
  std::optional<Interrupted> other;
  Fetcher fetcher(file.options(), {.timeout = 20s, .max_threads = 1, .on_failure = {}});
  other.emplace(fetcher);
  source.emplace(std::make_unique<MadeUp>([&] {
                   ++fetches;
                   return Granted{.range = {1, 11}, .mark = 10, .store = {}, .origin = "o", .record = {}};
                 }),
                 file.options(), fetcher);
  threads_are_refused = true;
  const std::string told = leaf::test::error_text([&] { source->take(1); });
  threads_are_refused = false;
  CHECK(told == "no thread could be started to fetch a range | check the limit of processes, 'ulimit -u'");
  CHECK(source->take(1).lo == 1);
  other->take(1);  // the one thread is through with whatever was due before
  CHECK(fetches == 1);
}

TEST_CASE("fetcher: where one thread runs and no other one can be started, that one fetches") {
  Watched watched(1);
  watched.fetcher.watch(watched.source);
  std::int64_t taken = 0;
  threads_are_refused = true;
  const std::string told = leaf::test::error_text([&] { taken = watched.source.take(1).lo; });
  threads_are_refused = false;
  CHECK(told.empty());
  CHECK(taken == 1);
}

#endif

TEST_CASE("fetcher: an outage that follows another one is met by short pauses anew") {
  const SqliteStore file;
  ManualClock clock;
  auto options = file.options();
  options.clock = &clock;
  std::atomic<int> fetches{0};
  std::atomic<bool> is_away{false};
  std::optional<OwnRanges> source;
  Fetcher fetcher(options, {.timeout = 1h, .max_threads = 1, .on_failure = {}});
  source.emplace(
      std::make_unique<MadeUp>([&] {
        const std::int64_t lo = 1 + 10 * fetches++;
        if (is_away) throw Error(ErrorCode::unavailable, "the store is away");
        return Granted{.range = {lo, lo + 10}, .mark = 1, .store = {}, .origin = "o", .record = {}};
      }),
      options, fetcher);
  source->fetch();
  for (int outage = 0; outage < 2; ++outage) {
    is_away = true;
    int failed = fetches;
    source->take(10);  // past the mark
    for (const auto pause : {100ms, 200ms, 400ms, 800ms}) {
      CHECK(leaf::test::wait_for([&] { return fetches > failed; }));
      clock.wait_for_sleepers(1);
      CHECK(fetches == ++failed);
      clock.advance(pause);
    }
    CHECK(leaf::test::wait_for([&] { return fetches > failed; }));
    clock.wait_for_sleepers(1);
    is_away = false;
    clock.advance(2s);
    CHECK(leaf::test::wait_for([&] { return !source->wants_fetch(); }));
  }
}

TEST_CASE("fetcher: who waits is told whatever a grant throws, and a report that throws ends no program") {
  const SqliteStore file;
  std::atomic<bool> is_mended{false};
  std::optional<OwnRanges> source;
  Fetcher fetcher(file.options(),
                  {.timeout = 60s, .max_threads = 1, .on_failure = [](const auto&, const Error&) {
                     throw std::runtime_error("nobody listens");
                   }});
  source.emplace(std::make_unique<MadeUp>([&]() -> Granted {
                   if (!is_mended) throw std::runtime_error("it broke");
                   return {.range = {1, 11}, .mark = 1, .store = {}, .origin = "o", .record = {}};
                 }),
                 file.options(), fetcher);
  const Error told = leaf::test::error_of([&] { source->take(1); });
  CHECK(told.code() == ErrorCode::failed);
  CHECK(told.what() == std::string("it broke"));
  is_mended = true;
  CHECK(source->take(1).lo == 1);
}

TEST_CASE("fetcher: while IDs are left, a failure that lasts is met by pauses, and not by each draw") {
  std::atomic<int> fetches{0};
  std::optional<OwnRanges> source;
  Watched watched(1);
  source.emplace(std::make_unique<MadeUp>([&]() -> Granted {
                   if (fetches++ > 0) throw Error(ErrorCode::not_found, "it is gone");
                   return {.range = {1, 11}, .mark = 1, .store = {}, .origin = "o", .record = {}};
                 }),
                 watched.options(), watched.fetcher);
  // The one thread that asks is through with what was due before another source.
  const auto settle = [&] {
    watched.clock.advance(1ms);
    const int before = watched.source.fetches;
    await(watched.fetcher, watched.source, [&] { return watched.source.fetches > before; });
  };
  source->fetch();
  for (int draws = 1; draws <= 5; ++draws) {
    CHECK(source->take(1).lo == draws);
    settle();
  }
  CHECK(fetches == 2);
  watched.clock.advance(100ms);
  CHECK(leaf::test::wait_for([&] { return fetches == 3; }));
}

TEST_CASE("fetcher: calls that each ask a store that is away anew leave one attempt to come, not one each") {
  const SqliteStore file;
  ManualClock clock;
  auto options = file.options();
  options.clock = &clock;
  std::atomic<int> fetches{0};
  std::optional<OwnRanges> source;
  Fetcher fetcher(options, {.timeout = 0ms, .max_threads = 1, .on_failure = {}});
  source.emplace(std::make_unique<MadeUp>([&]() -> Granted {
                   ++fetches;
                   throw Error(ErrorCode::unavailable, "the store is away");
                 }),
                 options, fetcher);
  for (int call = 1; call <= 5; ++call) {
    CHECK(error_code([&] { source->take(1); }) == ErrorCode::unavailable);
    CHECK(fetches == call);
  }
  clock.wait_for_sleepers(1);
  clock.advance(3s);  // longer than any pause
  clock.wait_for_sleepers(1);
  CHECK(fetches == 6);
}

TEST_CASE("fetcher: what serves those who waited for more is left in its place") {
  const SqliteStore file;
  Store store = file.open();
  ManualClock clock;
  auto options = file.options();
  options.clock = &clock;
  std::int64_t lo = 1;
  std::optional<OwnRanges> source;
  Fetcher fetcher(options, {.timeout = 1s, .max_threads = 0, .on_failure = {}});
  std::function<void()> on_grant = [] {};
  UnixTime confirmed = UnixTime::max(), serves_until = UnixTime::min();
  const auto next = [&] {
    on_grant();
    lo += 10;
    return Granted{
        .range = {lo - 10, lo}, .mark = 1, .store = {}, .origin = "o", .record = {}, .asked = confirmed};
  };
  source.emplace(std::make_unique<MadeUp>(next, [&](UnixTime time) { return time < serves_until; }), options,
                 fetcher);
  source->fetch(store, /*is_awaited=*/false);
  CHECK(source->take(1).lo == 1);
  source->fetch(store, /*is_awaited=*/false);
  std::int64_t expected = 2;
  const auto now = std::chrono::floor<std::chrono::milliseconds>(clock.now());
  serves_until = now + 1h;
  SUBCASE("by a clock that is right") {}
  SUBCASE("by one that was ahead as the store was asked") {
    clock.set_back(-2h);
    on_grant = [&] { clock.set_back(2h); };
  }
  SUBCASE("by one that is ahead since the store has compared it") {
    confirmed = now;
    clock.set_back(-2h);
  }
  SUBCASE("where it does not serve them, what comes takes its place") {
    serves_until = UnixTime::min();
    expected = 21;
  }
  source->fetch(store, /*is_awaited=*/true);
  CHECK(source->take(1).lo == expected);
}

TEST_CASE("fetcher: a call for many that fails costs nothing of a next range behind one that is used up") {
  const SqliteStore file;
  std::int64_t lo = 1;
  std::optional<OwnRanges> source;
  Fetcher fetcher(file.options(), {.timeout = 1h, .max_threads = 1, .on_failure = {}});
  source.emplace(
      std::make_unique<MadeUp>([&] {
        if (lo > 20) throw Error(ErrorCode::exhausted, "no more");
        lo += 10;
        return Granted{.range = {lo - 10, lo}, .mark = 1, .store = {}, .origin = "o", .record = {}};
      }),
      file.options(), fetcher);
  source->fetch();
  source->fetch();
  CHECK(source->take(10) == Range{1, 11});
  CHECK(error_code([&] { source->take_all(11); }) == ErrorCode::exhausted);
  CHECK(source->take(10) == Range{11, 21});
}

TEST_CASE("fetcher: what a caller has waited before counts") {
  const SqliteStore file;
  ManualClock clock;
  auto options = file.options();
  options.clock = &clock;
  std::latch let_go(1);
  std::optional<OwnRanges> source;
  Fetcher fetcher(options, {.timeout = 10s, .max_threads = 1, .on_failure = {}});
  source.emplace(std::make_unique<MadeUp>([&]() -> Granted {
                   let_go.wait();
                   return {.range = {1, 2}, .mark = 1, .store = {}, .origin = "o", .record = {}};
                 }),
                 options, fetcher);
  auto told = std::async(std::launch::async, [&] {
    return error_code([&] {
      await(
          fetcher, *source, [] { return false; }, clock.steady_now() + 1s);
    });
  });
  clock.wait_for_sleepers(1);
  clock.advance(1s);
  const bool has_ended = told.wait_for(60s) == std::future_status::ready;
  let_go.count_down();
  clock.advance(1h);
  CHECK(has_ended);
  CHECK(told.get() == ErrorCode::unavailable);
}

TEST_CASE("fetcher: whoever has checked and now asks a store that is slow leaves the next check to another") {
  std::latch is_checking(1), ends_check(1), let_go(1);
  Watched watched(2);
  ManualClock& clock = watched.clock;
  Fetcher& fetcher = watched.fetcher;
  Interrupted& source = watched.source;
  source.at_the_end = [&] {
    if (source.name_checks > 0) let_go.wait();  // the store is slow
  };
  source.in_check = [&] {
    if (source.checks > 1) return;
    is_checking.count_down();
    ends_check.wait();
  };
  source.asks_for_name = true;
  fetcher.watch(source);
  clock.wait_for_sleepers(1);
  clock.advance(1s);
  is_checking.wait();
  // Another thread has fetched, and found no check due.
  await(fetcher, source, [&] { return source.fetches == 1; });
  ends_check.count_down();
  CHECK(leaf::test::wait_for([&] { return source.name_checks == 1; }));
  CHECK(leaf::test::wait_for([&] {
    clock.advance(1s);
    return source.checks > 1;
  }));
  let_go.count_down();
}

TEST_CASE("fetcher: no answer has IDs of two stores, whenever the name leads to another one") {
  const SqliteStore file;
  Store store = file.open();
  std::optional<OwnRanges> source;
  Fetcher fetcher(file.options(), {.timeout = 60s, .max_threads = 1, .on_failure = {}});
  // Two ranges in a row are one store's.
  constexpr std::int64_t size = 64;
  const auto store_of = [](std::int64_t id) { return id / (2 * size) % 2; };
  std::int64_t lo = -size;
  const auto grant = [&] {
    lo += size;
    return Granted{.range = {lo, lo + size},
                   .mark = 1,
                   .store = {.deployment = store_of(lo) == 0 ? "one" : "other", .copy = {}},
                   .origin = "o",
                   .record = {}};
  };
  source.emplace(std::make_unique<MadeUp>(grant), file.options(), fetcher);
  source->fetch();
  std::atomic<bool> is_over{false};
  std::thread name([&] {
    for (int i = 0; i < 50'000; ++i) source->fetch(store, /*is_awaited=*/true);
    is_over = true;
  });
  int mixed = 0;
  while (!is_over) {
    const auto answer = source->take_all(3);
    mixed += store_of(answer.front().lo) != store_of(answer.back().lo);
  }
  name.join();
  CHECK(mixed == 0);
}

TEST_CASE("fetcher: pauses double, to two seconds, or to a minute where nobody expects it to help") {
  using leaf::range::pause_after;
  for (const bool is_retryable : {true, false}) {
    CAPTURE(is_retryable);
    for (int failures = 1; failures < 100; ++failures) {
      const auto most = std::min<std::chrono::milliseconds>(100ms * (1 << std::min(failures - 1, 10)),
                                                            is_retryable ? 2s : 60s);
      for (int i = 0; i < 20; ++i) {
        CHECK(pause_after(failures, is_retryable) <= most);
        CHECK(pause_after(failures, is_retryable) >= most / 4 * 3);
      }
    }
  }
}

TEST_CASE("fetcher: a range whose mark is reached before its fetch is over has the next one fetched") {
  const SqliteStore file;
  file.open();
  std::optional<Interrupted> source;
  Fetcher fetcher(file.options(), {.timeout = 5s, .max_threads = 1, .on_failure = {}});
  source.emplace(fetcher);
  source->at_the_end = [&] {
    // The last of the range before, and the first of this one.
    if (source->fetches == 2) CHECK(source->take(9).size() + source->take(1).size() == 10);
  };
  source->take(1);
  CHECK(leaf::test::wait_for([&] { return source->fetches == 3; }));
}

TEST_CASE("fetcher: a thread that finds no memory tries again, and the program goes on") {
  for (const int refused : {1, 2}) {  // also what would tell of it
    CAPTURE(refused);
    Watched watched(1);
    leaf::test::refuse_allocations(refused);
    watched.fetcher.request(watched.source);
    REQUIRE(leaf::test::wait_for([] { return leaf::test::allocations_to_refuse() == 0; }));
    CHECK(leaf::test::wait_for([&] {
      watched.clock.advance(2s);
      return watched.source.fetches == 1;
    }));
  }
}

TEST_CASE("fetcher: a draw that finds no memory to ask for a fetch leaves that to the next one") {
  Watched watched(1);
  bool is_refused = false;
  leaf::test::refuse_allocations(1);
  std::thread([&] {
    try {
      watched.fetcher.request(watched.source);
    } catch (const std::bad_alloc&) {
      is_refused = true;
    }
  }).join();
  CHECK(is_refused);
  watched.fetcher.request(watched.source);
  CHECK(leaf::test::wait_for([&] { return watched.source.fetches == 1; }));
}

TEST_CASE("fetcher: what is buffered is checked each second while the store does not answer") {
  std::latch asked(1), answered(1);
  Watched watched(1);
  ManualClock& clock = watched.clock;
  Fetcher& fetcher = watched.fetcher;
  Interrupted& source = watched.source;
  source.at_the_end = [&] {
    if (!asked.try_wait()) asked.count_down();
    answered.wait();
  };
  fetcher.watch(source);
  SUBCASE("which was asked for a range") {
    fetcher.request(source);
  }
  SUBCASE("which was asked for its name") {
    source.asks_for_name = true;
    clock.wait_for_sleepers(1);
    clock.advance(1s);
  }
  asked.wait();
  const int before = source.checks;
  for (int second = 0; second < 3; ++second) {
    clock.wait_for_sleepers(1);
    clock.advance(1s);
    CHECK(leaf::test::wait_for([&] { return source.checks > before + second; }));
  }
  CHECK(source.fetches + source.name_checks == 1);
  answered.count_down();
}

TEST_CASE("fetcher: its threads handle no signals, and who starts them goes on as before") {
  const auto is_handled = [](int signal) {
    sigset_t blocked;
    REQUIRE(pthread_sigmask(SIG_SETMASK, nullptr, &blocked) == 0);
    return sigismember(&blocked, signal) == 0;
  };
  Watched watched(1);
  std::atomic<int> handled{0};
  std::atomic<bool> is_seen{false};
  watched.source.in_check = [&] {
    for (const int signal : {SIGTERM, SIGINT, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF, SIGRTMIN})
      handled += is_handled(signal) ? 1 : 0;
    if (is_handled(SIGSEGV) && is_handled(SIGBUS)) is_seen = true;
  };
  watched.fetcher.watch(watched.source);
  watched.clock.wait_for_sleepers(1);
  watched.clock.advance(1s);
  CHECK(leaf::test::wait_for([&] { return is_seen.load(); }));
  CHECK(handled == 0);
  CHECK(is_handled(SIGTERM));
}

namespace {

/// In a process that has not loaded the driver for another test.
void run_apart(const char* test) {
  leaf::test::run({std::filesystem::read_symlink("/proc/self/exe").string(), "--no-skip",
                   std::string("--test-case=") + test});
}

}  // namespace

TEST_CASE("loading apart: with a fetcher that has asked no store yet" * doctest::skip()) {
  const int threads = std::atoi(std::getenv("TEST_THREADS"));
  Fetcher fetcher({.url = "sqlite:/nowhere/ids.db"},
                  {.timeout = 1s, .max_threads = threads, .on_failure = {}});
  std::ifstream maps("/proc/self/maps");
  const std::string mapped{std::istreambuf_iterator(maps), {}};
  CHECK((mapped.find("/libleaf-sqlite.so") != std::string::npos) == (threads > 0));
}

TEST_CASE("loading apart: with a fetcher that has no descriptor to load it with" * doctest::skip()) {
  std::optional<OwnRanges> source;
  std::optional<Fetcher> fetcher;
  const leaf::StoreOptions options{.url = "sqlite:/nowhere/ids.db"};
  {
    const leaf::test::NoDescriptors shortage;
    REQUIRE_NOTHROW(
        fetcher.emplace(options, Fetcher::Options{.timeout = 60s, .max_threads = 1, .on_failure = {}}));
  }
  source.emplace(std::make_unique<MadeUp>([] {
                   return Granted{.range = {1, 11}, .mark = 10, .store = {}, .origin = "o", .record = {}};
                 }),
                 options, *fetcher);
  CHECK(source->take(1).lo == 1);
}

TEST_CASE("fetcher: the driver is loaded before there is anything to fetch, and not where nothing will be") {
  for (const char* threads : {"1", "0"}) {
    CAPTURE(threads);
    setenv("TEST_THREADS", threads, 1);
    CHECK_NOTHROW(run_apart("loading apart: with a fetcher that has asked no store yet"));
  }
}

TEST_CASE("fetcher: a driver that could not be loaded at the start fails nothing before there is a fetch") {
  CHECK_NOTHROW(run_apart("loading apart: with a fetcher that has no descriptor to load it with"));
}
