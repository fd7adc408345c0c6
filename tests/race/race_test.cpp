#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "race/race.hpp"
#include "support/figure.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"
#include "support/wait_for.hpp"

using namespace std::chrono_literals;
using leaf::Range;
using leaf::TagName;
using leaf::test::Race;
using leaf::test::Racer;
using leaf::test::RaceResult;

namespace {

constexpr int processes = 16;
constexpr const char* tag_name = "order";

/// Used up in a few milliseconds: whoever is stopped for longer wakes up several segments later.
constexpr std::int64_t longest_segment = 20'000;
constexpr std::chrono::milliseconds window = 200ms;

/// Nobody gives up because others are stopped, or because this machine has other work to do.
constexpr std::chrono::milliseconds patience = 2min;

/// A store in memory where there is such a file system: a commit is to take as long as a call.
class RaceStore {
 public:
  RaceStore() {
    options_.url = "sqlite:" + path();
    options_.timeout = patience;
    leaf::Store(options_).migrate();
  }

  std::string path() const { return (folder_.path() / "leaf.db").string(); }
  const leaf::StoreOptions& options() const { return options_; }
  leaf::HostOptions host() const { return {.folder = (folder_.path() / "run").string()}; }

 private:
  leaf::test::TemporaryFolder folder_;
  leaf::StoreOptions options_;
};

void check(const std::string& name, const RaceResult& result, std::uint64_t wanted) {
  leaf::test::figure(name, result.ids, "IDs drawn");
  leaf::test::figure(name, result.stops, "stops");
  leaf::test::figure(name, result.kills, "kills");
  for (const auto& violation : result.violations.first()) CHECK_MESSAGE(false, violation.text());
  CHECK(result.violations.count() == 0);
  const std::string failure = result.failure ? result.failure->what() : "";
  CHECK(failure == "");
  if (failure.empty() && result.violations.count() == 0) CHECK(result.ids >= wanted);
  CHECK(result.stops > 0);
  CHECK(result.kills > 0);
}

// --- one tag

void draw_from_tag(const RaceStore& store, Racer& racer) {
  leaf::SegmentAllocator allocator(store.options(),
                                   {.timeout = patience, .max_step = longest_segment, .host = store.host()});
  leaf::SegmentTag tag = allocator.tag(TagName(tag_name));
  std::vector<std::int64_t> ids(100);
  while (!racer.is_over()) {
    for (int i = 0; i < 500 && !racer.is_over(); ++i) racer.call([&] { return tag.next(); });
    racer.call([&] { return tag.next_range(racer.random(100)); });
    racer.call([&] {
      tag.next(ids);
      return std::span<const std::int64_t>(ids);
    });
    // Now and then more than a fetch brings.
    if (racer.random(20'000) == 1) racer.call([&] { return tag.next_ranges(2 * longest_segment); });
  }
}

/// As another host does: what is granted to it lies between the segments of the racers. It lets them draw in
/// between, or it would keep the store to itself.
void draw_from_store(const RaceStore& store, Racer& racer) {
  leaf::Store rival(store.options());
  while (!racer.is_over()) {
    const std::int64_t before = racer.newest_of_racers();
    leaf::test::wait_for(
        [&] { return racer.is_over() || racer.newest_of_racers() > before + longest_segment; });
    racer.call(
        [&] { return rival.grant(TagName(tag_name), static_cast<std::int64_t>(racer.random(1000))).range; });
  }
}

/// Has the store write down each grant in the transaction that makes it.
void audit(leaf::test::SqliteSession& session) {
  REQUIRE(
      session.run("CREATE TABLE audit (lo INTEGER NOT NULL, hi INTEGER NOT NULL);"
                  "CREATE TRIGGER audit AFTER UPDATE OF max_id ON leaf_alloc"
                  " BEGIN INSERT INTO audit VALUES (NEW.max_id - NEW.last_grant, NEW.max_id); END"));
}

void race_on_one_tag(std::uint64_t wanted) {
  RaceStore store;
  {
    leaf::test::SqliteSession session(store.path());
    audit(session);
    leaf::Store admin(store.options());
    leaf::test::add_tag(admin, tag_name, 1000);
  }
  // A kill loses at most the IDs of one call and a grant in flight.
  Race race(processes, {1, static_cast<std::int64_t>(20 * wanted)},
            [&](Racer& racer) { draw_from_tag(store, racer); });
  race.add_rival([&](Racer& racer) { draw_from_store(store, racer); });
  const RaceResult result = race.run(wanted);
  check("race/tag", result, wanted);
  leaf::test::figure("race/tag", result.rivals_ids, "IDs drawn by a rival");
  CHECK(result.rivals_ids > 0);

  // The rival has drawn all that was granted to it, so that no ID of the racers lies in it; neither do they
  // have any that was not granted yet.
  leaf::Store admin(store.options());
  const std::int64_t next_id = admin.tag(TagName(tag_name)).next_id;
  CHECK(result.newest < next_id);
  leaf::test::SqliteSession session(store.path());
  CHECK(session.value("SELECT count(*) FROM (SELECT lo, lag(hi) OVER (ORDER BY lo) AS before FROM audit)"
                      " WHERE lo < before") == "0");
  CHECK(session.value("SELECT sum(hi - lo) FROM audit") == std::to_string(next_id - 1));
  const auto burnt = static_cast<std::uint64_t>(next_id - 1) - result.ids - result.rivals_ids;
  // Both ranges of the buffer, and for each kill a call's IDs and a grant.
  CHECK(burnt <= static_cast<std::uint64_t>(2 * longest_segment) +
                     static_cast<std::uint64_t>(result.kills) * 4 * longest_segment);
  leaf::test::figure("race/tag", burnt, "IDs burnt");
}

// --- one worker

leaf::SnowflakeGenerator generator_of(const RaceStore& store) {
  return {store.options(),
          {.worker = {.owner = "host", .window = window}, .timeout = patience, .host = store.host()}};
}

void make_ids(const RaceStore& store, Racer& racer) {
  leaf::SnowflakeGenerator generator = generator_of(store);
  std::vector<std::int64_t> ids(100);
  while (!racer.is_over()) {
    for (int i = 0; i < 500 && !racer.is_over(); ++i) racer.call([&] { return generator.next(); });
    racer.call([&] {
      generator.next(ids);
      return std::span<const std::int64_t>(ids);
    });
  }
}

void race_on_one_worker(std::uint64_t wanted, const leaf::Layout& layout) {
  RaceStore store;
  leaf::Store(store.options()).set_layout(layout);
  const auto begun = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  Race race(processes, {layout.first_id(begun), layout.last_id(begun + 30min)},
            [&](Racer& racer) { make_ids(store, racer); });
  // The host has its worker then. Who was killed between his first lease and the moment when others of the
  // host hear of it would leave it to nobody.
  generator_of(store).next();
  const RaceResult result = race.run(wanted);
  check("race/worker", result, wanted);

  // One worker for all, and no ID of a time that was not leased.
  const auto workers = leaf::Store(store.options()).workers();
  REQUIRE(workers.size() == 1);
  CHECK(layout.worker_of(result.newest) == workers[0].id);
  CHECK(layout.time_of(result.newest) < workers[0].window_end);
}

}  // namespace

TEST_CASE("race: 16 processes that draw from one tag, stopped and killed at random") {
  race_on_one_tag(RACE_IDS);
}

TEST_CASE("race: 16 processes that make IDs with one worker, stopped and killed at random") {
  race_on_one_worker(RACE_IDS / 4, leaf::Layout::parse("leaf"));
}

TEST_SUITE("soak" * doctest::skip()) {
  TEST_CASE("race: a thousand million IDs of one tag") {
    race_on_one_tag(1'000'000'000);
  }

  TEST_CASE("race: a thousand million IDs of one worker") {
    race_on_one_worker(1'000'000'000, leaf::Layout::parse("leaf"));
  }
}
