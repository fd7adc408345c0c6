#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/slow_clock.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using leaf::ErrorCode;
using leaf::Range;
using leaf::TagName;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::error_text;
using leaf::test::SqliteStore;

TEST_CASE("grants: a row with max_id 1 and step 2000 gives [1, 2001), as in Leaf") {
  SqliteStore store;
  leaf::Store admin = store.open();
  leaf::test::add_tag(admin, "order", 2000);
  const leaf::Grant grant = admin.grant_segment(TagName("order"));
  CHECK(grant.range == Range{1, 2001});
  CHECK(grant.step == 2000);
  CHECK(grant.limit == leaf::max_id);
  CHECK(grant.incarnation == admin.tag(TagName("order")).incarnation);
}

TEST_CASE("grants: a view in the place of a table grants nothing, though SQLite returns rows of it") {
  const SqliteStore file;
  leaf::Store store = file.open();
  const TagName order("order");
  leaf::test::add_tag(store, "order", 50);
  store.acquire_worker({.owner = "a"});
  leaf::test::SqliteSession session(file.path());
  const auto draw = [&](const std::string& table) {
    if (table == "leaf_alloc") {
      store.grant(order, 1);
    } else {
      store.acquire_worker({.owner = "a"});
    }
  };
  for (const std::string table : {"leaf_alloc", "leaf_worker"}) {
    CAPTURE(table);
    session.run("ALTER TABLE " + table + " RENAME TO former; CREATE VIEW " + table +
                " AS SELECT * FROM former");
    const leaf::Error error = error_of([&] { draw(table); });
    CHECK(error.code() == ErrorCode::refused);
    CHECK(std::string(error.what()).find("a view") != std::string::npos);
    CHECK(error.hint() ==
          "find out who replaced the table, and put it back, from a backup if need be; a new store would "
          "repeat IDs");
    const auto faults = store.health().table_faults;
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].what == table + " is a view");
    CHECK(faults[0].stops_grants);
    session.run("DROP VIEW " + table + "; ALTER TABLE former RENAME TO " + table);
    CHECK_NOTHROW(draw(table));
    CHECK(store.health().table_faults.empty());
  }
  CHECK(store.grant(order, 1).range == Range{2, 3});
}

TEST_CASE("grants: where a trigger keeps a change away, the hint leads to it") {
  const SqliteStore file;
  leaf::test::SlowClock clock;
  leaf::StoreOptions options = file.options();
  options.clock = &clock;
  leaf::Store store(options);
  const TagName order("order");
  leaf::test::add_tag(store, "order", 50);
  leaf::test::SqliteSession session(file.path());
  const auto require_error = [&](const std::string& raise, const std::string& text) {
    REQUIRE(session.run("CREATE TRIGGER mine BEFORE UPDATE ON leaf_alloc BEGIN SELECT " + raise + "; END"));
    CHECK(error_text([&] { store.grant(order, 1); }) == text);
    session.run("DROP TRIGGER mine");
    CHECK_NOTHROW(store.grant(order, 1));
  };
  require_error("RAISE(IGNORE)",
                "tag 'order' was changed by somebody else meanwhile | try again; if that does not help, a "
                "trigger on table leaf_alloc keeps changes away: drop the one that is not the store's");
  require_error("RAISE(ABORT, 'no')",
                "the store refused: no | a trigger of its tables says so: drop it if it is none of the "
                "store's");
  CHECK(store.grant(order, 1).range == Range{3, 4});
}

TEST_CASE("grants: all that a grant asks of the store takes no longer than one timeout") {
  const SqliteStore file;
  leaf::test::SlowClock clock;
  leaf::StoreOptions options = file.options();
  options.clock = &clock;
  options.timeout = 1s;
  leaf::Store store(options);
  const TagName unknown("nobody");  // which is looked at twice more before anybody is told so
  CHECK(error_code([&] { store.grant(unknown, 1); }) == ErrorCode::not_found);
  clock.passes = 250ms;
  CHECK(error_code([&] { store.grant(unknown, 1); }) == ErrorCode::unavailable);
  store.set_timeout(2s);
  CHECK(error_code([&] { store.grant(unknown, 1); }) == ErrorCode::not_found);
}

TEST_CASE("grants: no call goes on after the end that is set for all") {
  const SqliteStore file;
  leaf::test::ManualClock clock;
  leaf::StoreOptions options = file.options();
  options.clock = &clock;
  leaf::Store store(options);
  leaf::test::add_tag(store, "order", 10);
  for (const auto timeout : {1s, 0s}) {
    store.set_timeout(timeout, clock.steady_now() + 1s);
    CHECK_NOTHROW(store.grant(TagName("order"), 1));
    clock.advance(1s);
    CHECK(error_code([&] { store.grant(TagName("order"), 1); }) == ErrorCode::unavailable);
    store.set_timeout(timeout);
    CHECK_NOTHROW(store.grant(TagName("order"), 1));
  }
}

TEST_CASE("grants: exact ones follow each other, a wish enlarges a segment and never shrinks it") {
  SqliteStore store;
  leaf::Store admin = store.open();
  leaf::test::add_tag(admin, "order", 100);
  CHECK(admin.grant(TagName("order"), 1).range == Range{1, 2});
  CHECK(admin.grant(TagName("order"), 1'000'000'000'000).range == Range{2, 1'000'000'000'002});
  CHECK(admin.grant_segment(TagName("order"), 250).range.size() == 250);
  CHECK(admin.grant_segment(TagName("order"), 50).range.size() == 100);
}

TEST_CASE("grants: a store that went back to a copy of before is refused, and nothing is written to it") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const TagName order("order");
  leaf::test::add_tag(admin, "order", 10);
  CHECK(admin.grant(order, 5).range == Range{1, 6});
  fs::copy_file(store.path(), store.path() + ".backup");
  SUBCASE("of exact grants") {
    admin.grant(order, 110);
  }
  SUBCASE("of segments") {
    admin.grant_segment(order, 110);
  }
  fs::copy_file(store.path() + ".backup", store.path(), fs::copy_options::overwrite_existing);
  REQUIRE(admin.tag(order).next_id == 6);
  CHECK(admin.granted_mark(order) == 116);
  for (int i = 0; i < 3; ++i) {
    CHECK(error_code([&] { admin.grant(order, 1); }) == ErrorCode::refused);
    CHECK(error_code([&] { admin.grant(order, 1000); }) == ErrorCode::refused);
    CHECK(error_code([&] { admin.grant_segment(order); }) == ErrorCode::refused);
    CHECK(error_code([&] { admin.grant_segment(order, 1000); }) == ErrorCode::refused);
  }
  CHECK(admin.tag(order).next_id == 6);
  admin.update_tag(order, {.raise_to = 116});
  CHECK(admin.grant(order, 1).range == Range{116, 117});
}

TEST_CASE("grants: what another deployment has granted counts once it is in the place of the first") {
  SqliteStore here, there;
  const TagName order("order");
  const leaf::test::TemporaryFolder home;
  const auto marks = leaf::host_marks({.folder = home.path() / "run"});
  const auto open = [&](const SqliteStore& store) {
    auto options = store.options();
    options.marks = marks;
    return leaf::Store(options);
  };
  leaf::Store store = open(here), other = open(there);
  leaf::test::add_tag(store, "order", 10);
  CHECK(store.grant(order, 5).range == Range{1, 6});
  other.add_tag({.name = order, .step = 10, .start = 5000});
  fs::copy_file(there.path(), there.path() + ".backup");
  SUBCASE("up to what it has granted") {
    fs::copy_file(there.path(), here.path(), fs::copy_options::overwrite_existing);
    const leaf::Grant grant = store.grant(order, 5);
    CHECK(grant.range.lo >= 5000);
    CHECK(grant.store.deployment == other.identity().deployment);
  }
  SUBCASE("a copy of before") {
    other.grant(order, 1000);
    fs::copy_file(there.path() + ".backup", here.path(), fs::copy_options::overwrite_existing);
    CHECK(error_code([&] { store.grant(order, 1); }) == ErrorCode::refused);
  }
}

TEST_CASE(
    "grants: a deployment with a lower counter in the place of the first is not taken for a copy of it") {
  SqliteStore here;
  const SqliteStore there;
  const TagName order("order");
  leaf::Store store = here.open(), other = there.open();
  leaf::test::add_tag(store, "order", 10);
  leaf::test::add_tag(other, "order", 10);
  CHECK(store.grant(order, 500).range == Range{1, 501});
  fs::copy_file(there.path(), here.path(), fs::copy_options::overwrite_existing);
  CHECK(store.grant(order, 5).range == Range{1, 6});
  CHECK(store.grant_segment(order).store.deployment == other.identity().deployment);
}

TEST_CASE("grants: at a limit an exact one is all or nothing, a segment is what is left") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const TagName order("order");
  admin.add_tag({.name = order, .step = 100, .limit = 50});
  CHECK(error_code([&] { admin.grant(order, 51); }) == ErrorCode::exhausted);
  CHECK(admin.tag(order).next_id == 1);
  CHECK(admin.grant(order, 45).range == Range{1, 46});
  CHECK(admin.grant_segment(order).range == Range{46, 51});
  CHECK(error_code([&] { admin.grant_segment(order); }) == ErrorCode::exhausted);
  CHECK(error_code([&] { admin.grant(order, 1); }) == ErrorCode::exhausted);
}

TEST_CASE("grants: the last ID is 2^63 - 2, and nothing overflows behind it") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const TagName order("order");
  admin.add_tag({.name = order, .step = 1000, .start = leaf::max_id - 9});
  CHECK(error_code([&] { admin.grant(order, leaf::max_id); }) == ErrorCode::exhausted);
  CHECK(admin.grant(order, 4).range.size() == 4);
  CHECK(admin.grant_segment(order, leaf::max_step).range == Range{leaf::max_id - 5, INT64_MAX});
  CHECK(error_code([&] { admin.grant(order, 1); }) == ErrorCode::exhausted);
}

TEST_CASE("grants: counts out of bounds are refused") {
  SqliteStore store;
  leaf::Store admin = store.open();
  leaf::test::add_tag(admin, "order", 1);
  CHECK(error_code([&] { admin.grant(TagName("order"), 0); }) == ErrorCode::usage);
  CHECK(error_code([&] { admin.grant(TagName("order"), -1); }) == ErrorCode::usage);
  CHECK(error_code([&] { admin.grant(TagName("order"), INT64_MAX); }) == ErrorCode::usage);
  CHECK(error_code([&] { admin.grant(TagName("none"), 1); }) == ErrorCode::not_found);
}

TEST_CASE("grants: max_id cannot be lowered nor a row deleted behind the program's back") {
  SqliteStore store;
  leaf::Store admin = store.open();
  leaf::test::add_tag(admin, "order", 1);
  admin.grant(TagName("order"), 100);
  leaf::test::SqliteSession other(store.path());
  CHECK_FALSE(other.run("UPDATE leaf_alloc SET max_id = 50"));
  CHECK_FALSE(other.run("DELETE FROM leaf_alloc"));
  CHECK_FALSE(other.run("UPDATE leaf_alloc SET biz_tag = 'other'"));
  CHECK(other.run("UPDATE leaf_alloc SET max_id = 500"));
  CHECK(admin.grant(TagName("order"), 1).range.lo == 500);
}

TEST_CASE("grants: a row whose commit fails is not given out, and its IDs go to whoever asks next") {
  SqliteStore store;
  leaf::Store admin = store.open();
  leaf::test::add_tag(admin, "order", 10);
  leaf::Store waiting = store.open();
  CHECK(waiting.grant(TagName("order"), 1).range == Range{1, 2});
  waiting.set_timeout(std::chrono::milliseconds(50));
  // Somebody who reads lets others write, but not commit.
  leaf::test::SqliteSession reader(store.path());
  REQUIRE(reader.run("BEGIN; SELECT * FROM leaf_alloc"));
  CHECK(error_code([&] { waiting.grant(TagName("order"), 5); }) == ErrorCode::unavailable);
  CHECK(error_code([&] { waiting.grant_segment(TagName("order")); }) == ErrorCode::unavailable);
  REQUIRE(reader.run("COMMIT"));
  CHECK(admin.grant(TagName("order"), 1).range == Range{2, 3});
}

TEST_CASE("grants: eight processes at once get disjoint ranges without a gap") {
  constexpr int processes = 8, each = 50;
  SqliteStore store;
  leaf::Store admin = store.open();
  leaf::test::add_tag(admin, "order", 3);
  leaf::StoreOptions patient = store.options();  // SQLite's lock has no queue
  patient.timeout = std::chrono::minutes(1);
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  for (int p = 0; p < processes; ++p) {
    if (fork() == 0) {
      try {
        leaf::Store own(patient);
        for (int i = 0; i < each; ++i) {
          const Range range = i % 2 == 0 ? own.grant_segment(TagName("order")).range
                                         : own.grant(TagName("order"), 1 + i % 7).range;
          if (write(pipe_ends[1], &range, sizeof range) != sizeof range) _exit(2);
        }
      } catch (...) {
        _exit(1);
      }
      _exit(0);
    }
  }
  close(pipe_ends[1]);
  std::vector<Range> ranges;
  for (Range range; read(pipe_ends[0], &range, sizeof range) == sizeof range;) ranges.push_back(range);
  close(pipe_ends[0]);
  for (int status = 0; wait(&status) > 0;) CHECK(status == 0);

  REQUIRE(ranges.size() == processes * each);
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.lo < b.lo; });
  std::int64_t end = 1;
  for (const Range& range : ranges) {
    CHECK(range.lo == end);
    end = range.hi;
  }
  CHECK(admin.tag(TagName("order")).next_id == end);
}
