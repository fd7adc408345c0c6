// Whether IDs can be drawn, as load balancers ask: the store away, its lock held, and either mended.
#include "serve/readiness.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "leaf/error.hpp"
#include "serve/shared_drawing.hpp"
#include "support/error_of.hpp"
#include "support/manual_clock.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"
#include "support/temporary_folder.hpp"
#include "support/wait_for.hpp"

namespace {

using namespace leafctl::serve;
using leaf::ErrorCode;
using leaf::TagName;
using leaf::test::error_text;
using leaf::test::wait_for;

/// A host that draws from a tag of small segments, as the server does.
class Drawer {
 public:
  explicit Drawer(leaf::Clock& clock = leaf::Clock::real()) : clock_(clock) { add_order(5); }
  /// Of another store on the host of `neighbor`, where the tag has another step.
  Drawer(const Drawer& neighbor, std::int64_t step)
      : clock_(neighbor.clock_), host_folder_(neighbor.host_folder_) {
    add_order(step);
  }

  /// Draws one ID, and notes how that went, as a thread of the server does.
  bool draw() {
    std::optional<leaf::Error> error;
    try {
      leaf::SegmentTag ids = drawing.tag(TagName("order")).ids;
      SharedDrawing::draw(ids, 1, Shape::any);
    } catch (const leaf::Error& failure) {
      error = failure;
    }
    drawing.note_draw("order", error);
    return !error;
  }
  void draw_all() {
    CHECK(wait_for([&] { return !draw(); }));
  }
  bool is_ready() {
    return error_text([&] { drawing.require_ready(); }).empty();
  }

  /// How many IDs a segment has; none where the host does not know the tag.
  std::optional<std::int64_t> buffered_step(const std::string& tag) const {
    SharedDrawing fresh(options_);
    const auto found = fresh.open_buffered({tag});
    return found.at(0) ? std::optional(found[0]->step) : std::nullopt;
  }

  leaf::test::SqliteStore store;

 private:
  void add_order(std::int64_t step) const {
    leaf::Store admin = store.open();
    leaf::test::add_tag(admin, "order", step);
  }
  Options options() const {
    Options options;
    options.store = store.options();
    options.store.timeout = {};
    options.store.clock = &clock_;
    options.segments.timeout = {};
    options.segments.host = {.folder = host_folder_};
    return options;
  }

  leaf::Clock& clock_;
  leaf::test::TemporaryFolder folder_;
  const std::string host_folder_ = (folder_.path() / "run").string();
  const Options options_ = options();

 public:
  SharedDrawing drawing{options_};
};

}  // namespace

TEST_CASE(
    "readiness: a store that can be read alone grants nothing, one that lacks rights if a draw has failed") {
  leaf::StoreHealth health;
  CHECK_NOTHROW(require_writable(health, false));
  CHECK_NOTHROW(require_writable(health, true));
  health.missing_rights = {"UPDATE on leaf_alloc", "SELECT on leaf_meta"};
  CHECK_NOTHROW(require_writable(health, false));
  CHECK(error_text([&] { require_writable(health, true); }) ==
        "the store does not allow UPDATE on leaf_alloc | ");
  health = {};
  health.is_standby = true;
  for (const bool has_failed : {false, true})
    CHECK(error_text([&] { require_writable(health, has_failed); }) == "the store accepts no writes | ");
  health = {};
  health.is_read_only = true;
  CHECK(error_text([&] { require_writable(health, false); }) == "the store accepts no writes | ");
  health = {};
  health.commits_wait = true;
  CHECK(error_text([&] { require_writable(health, false); }) ==
        "the store waits for a synchronous standby at each commit | ");
}

TEST_CASE("readiness: with the store away it lasts as long as the buffer, and comes back with the store") {
  Drawer drawer;
  CHECK(drawer.is_ready());
  REQUIRE(drawer.draw());
  CHECK(drawer.is_ready());
  const std::string path = drawer.store.path();
  std::filesystem::rename(path, path + ".away");
  CHECK(drawer.is_ready());
  drawer.draw_all();
  CHECK_FALSE(drawer.is_ready());
  std::filesystem::rename(path + ".away", path);
  CHECK(wait_for([&] { return drawer.is_ready(); }));
  CHECK(wait_for([&] { return drawer.draw(); }));
}

TEST_CASE("readiness: a tag that was removed is not waited for while the store is away") {
  Drawer drawer;
  leaf::Store admin = drawer.store.open();
  leaf::test::add_tag(admin, "removed", 5);
  drawer.drawing.tag(TagName("removed"));
  REQUIRE(drawer.draw());
  const std::string path = drawer.store.path();
  std::filesystem::rename(path, path + ".away");
  CHECK_FALSE(drawer.is_ready());
  drawer.drawing.note_draw("removed", leaf::Error(ErrorCode::not_found, "a"));
  CHECK(drawer.is_ready());
}

TEST_CASE("readiness: while a lock lets nobody have IDs there is none, though the store answers") {
  Drawer drawer;
  REQUIRE(drawer.draw());
  leaf::test::SqliteSession lock(drawer.store.path());
  REQUIRE(lock.run("BEGIN IMMEDIATE"));
  drawer.draw_all();
  CHECK(error_text([&] {
          drawer.drawing.require_ready();
        }).starts_with("tag 'order' has no IDs left, and gets none"));
  // That a tag is not there, or used up, says nothing of the store.
  drawer.drawing.note_draw("made-up", leaf::Error(ErrorCode::not_found, "a"));
  drawer.drawing.note_draw("order", leaf::Error(ErrorCode::exhausted, "a"));
  CHECK_FALSE(drawer.is_ready());
  lock.close();
  // Nobody draws meanwhile.
  CHECK(wait_for([&] { return drawer.is_ready(); }));
}

TEST_CASE(
    "readiness: a draw that gave up while its fetch goes on counts for a while, where nothing is left") {
  leaf::test::ManualClock clock;
  Drawer drawer(clock);
  const leaf::Error late(ErrorCode::unavailable, "no answer within 200ms");
  drawer.drawing.note_draw("order", late);
  CHECK(error_text([&] { drawer.drawing.require_ready(); }) ==
        "no IDs are left, and the last draw failed: no answer within 200ms | ");
  clock.advance(std::chrono::seconds(4));
  CHECK(drawer.is_ready());  // nobody may have asked since
  REQUIRE(drawer.draw());
  drawer.drawing.note_draw("order", late);
  CHECK(drawer.is_ready());
}

TEST_CASE("readiness: what this host has buffered of another store's tags counts for that one alone") {
  Drawer drawer;
  Drawer neighbor(drawer, 500);
  leaf::Store admin = neighbor.store.open();
  leaf::test::add_tag(admin, "theirs", 500);
  REQUIRE(neighbor.draw());
  REQUIRE_FALSE(neighbor.drawing.tag(TagName("theirs")).ids.next_range(1).empty());
  CHECK(neighbor.buffered_step("order") == 500);
  CHECK(neighbor.buffered_step("theirs") == 500);
  CHECK_FALSE(drawer.buffered_step("order").has_value());
  REQUIRE(drawer.draw());
  CHECK(drawer.buffered_step("order") == 5);
  CHECK_FALSE(drawer.buffered_step("theirs").has_value());
  leaf::test::SqliteSession lock(drawer.store.path());
  REQUIRE(lock.run("BEGIN EXCLUSIVE"));
  drawer.draw_all();
  CHECK_FALSE(drawer.is_ready());
  CHECK(neighbor.is_ready());
}
