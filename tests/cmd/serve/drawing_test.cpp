// What one client asks for comes from one store, whenever the store's name is turned to another one, and
// back.
#include "serve/drawing.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>

#include "leaf/layout.hpp"
#include "leaf/snowflake.hpp"
#include "serve/serve.hpp"
#include "serve/shared_drawing.hpp"
#include "support/manual_clock.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"
#include "support/temporary_folder.hpp"
#include "support/worker_request.hpp"

namespace fs = std::filesystem;

namespace {

using namespace leafctl::serve;
using namespace std::chrono_literals;
using leaf::test::SqliteStore;

/// Has `folder`/leaf.db lead to `store`.
void turn(const fs::path& folder, const SqliteStore& store) {
  fs::create_symlink(store.path(), folder / "new");
  fs::rename(folder / "new", folder / "leaf.db");
}

std::string url_in(const fs::path& folder) {
  return "sqlite:" + (folder / "leaf.db").string();
}

/// Two IDs a millisecond: many take a while.
const leaf::Layout layout = leaf::Layout::parse("time:41,worker:10,sequence:1/1ms@1600000000000");

/// Does something at its N-th look at the time, and something else later on.
class AlarmClock final : public leaf::test::ManualClock {
 public:
  void set(int looks, std::function<void()> ring, int later, std::function<void()> ring_again) {
    ring_ = std::move(ring);
    ring_again_ = std::move(ring_again);
    rings_at_ = looks_ + looks;
    rings_again_at_ = rings_at_ + later;
  }
  std::chrono::system_clock::time_point now() override {
    const int look = ++looks_;
    if (look == rings_at_) ring_();
    if (look == rings_again_at_) ring_again_();
    return ManualClock::now();
  }

 private:
  std::atomic<int> looks_{0}, rings_at_{0}, rings_again_at_{0};
  std::function<void()> ring_, ring_again_;
};

/// What draws for a server by `options`, in the test's own thread but for what waits for the store.
class TestDrawing final : public Drawer {
 public:
  explicit TestDrawing(Options options) : options_(std::move(options)) {}

  /// Tells at once, or once run() has.
  std::shared_ptr<Draw> begin(std::string_view tag, std::uint64_t count, Shape shape) {
    auto draw = std::make_shared<Draw>(count, shape, static_cast<Drawer*>(this));
    if (!drawing_.begin(tag, draw)) ++waiting_;
    return draw;
  }
  /// Until all have ended.
  void run() {
    const auto stays = boost::asio::make_work_guard(loop_);
    loop_.restart();
    while (waiting_ > 0) loop_.run_one();
  }
  std::shared_ptr<Draw> draw(std::string_view tag, std::uint64_t count, Shape shape) {
    auto draw = begin(tag, count, shape);
    run();
    return draw;
  }
  /// None where it would have to wait.
  std::optional<std::int64_t> next(std::string_view tag) {
    std::int64_t id = 0;
    return drawing_.try_next(tag, id) ? std::optional(id) : std::nullopt;
  }
  void abandon(std::string_view tag, const Draw& draw) {
    drawing_.abandon(tag, draw);
    --waiting_;
  }
  void look_again() { drawing_.look_again(); }
  void keep_threads_busy(const std::shared_future<void>& end) {
    for (int thread = 0; thread < 8; ++thread) jobs_.tags.add([end] { end.wait(); });
  }
  void on_drawn() override { --waiting_; }

 private:
  const Options options_;
  int waiting_ = 0;
  SharedDrawing shared_{options_};
  boost::asio::io_context loop_;
  DrawingJobs jobs_;
  Drawing drawing_{loop_, jobs_, shared_};
};

/// A server's draws by a name that leads to the first of two stores; there the first worker is another's.
class TurnedServer {
 public:
  TurnedServer() {
    for (const SqliteStore* store : {&first_, &second_}) leaf::Store(store->options()).set_layout(layout);
    first_.open().acquire_worker(leaf::test::request_of("another"));
    turn(folder_.path(), first_);
  }

  /// As many snowflakes as a client asks for, while the name is turned, and back if it is.
  std::set<std::int64_t> workers_of(std::uint64_t count, int looks, bool comes_back) {
    clock_.set(
        looks, [this] { turn(folder_.path(), second_); }, 20'000,
        [this, comes_back] {
          if (comes_back) turn(folder_.path(), first_);
        });
    const auto draw = draw_all(count);
    REQUIRE_FALSE(draw->error);
    REQUIRE(count_of(draw->ranges) == count);
    std::set<std::int64_t> workers;
    for (const leaf::Range range : draw->ranges) {
      for (std::int64_t id = range.lo; id < range.hi; ++id) workers.insert(layout.worker_of(id));
    }
    return workers;
  }
  std::shared_ptr<Draw> draw_all(std::uint64_t count) { return drawing_.draw("", count, Shape::any); }

 private:
  Options options() {
    Options options;
    options.store = first_.options();
    options.store.url = url_in(folder_.path());
    options.store.clock = &clock_;
    options.snowflakes.worker.owner = "here";
    options.snowflakes.worker.window = 100ms;
    options.snowflakes.host = leaf::HostOptions{.folder = folder_.path() / "run"};
    return options;
  }

  const SqliteStore first_, second_;
  const leaf::test::TemporaryFolder folder_;
  AlarmClock clock_;
  TestDrawing drawing_{options()};
};

/// Draws of a tag whose threads are busy until the test lets them go, by a name that leads to the first of
/// two stores. In the second one IDs begin at a million.
class BusyServer {
 public:
  explicit BusyServer(std::int64_t step) {
    leaf::Store first = first_.open(), second = second_.open();
    leaf::test::add_tag(first, "order", step);
    leaf::test::add_tag(second, "order", step);
    second.update_tag(leaf::TagName("order"), {.raise_to = 1'000'000});
    turn(folder_.path(), first_);
  }
  void turn_to_second() const { turn(folder_.path(), second_); }

  std::shared_ptr<Draw> begin(std::uint64_t count, Shape shape) {
    return drawing_.begin("order", count, shape);
  }
  void abandon(const Draw& draw) { drawing_.abandon("order", draw); }
  void look_again() { drawing_.look_again(); }
  void keep_threads_busy(const std::shared_future<void>& end) { drawing_.keep_threads_busy(end); }
  void run() { drawing_.run(); }

 private:
  Options options() const {
    Options options;
    options.store = first_.options();
    options.store.url = url_in(folder_.path());
    return options;
  }

  const SqliteStore first_, second_;
  const leaf::test::TemporaryFolder folder_;
  TestDrawing drawing_{options()};
};

}  // namespace

TEST_CASE("drawing: who asks for a segment gets one, though who came before has given up") {
  BusyServer server(10);
  const auto first = server.begin(10, Shape::any);
  server.run();
  REQUIRE_FALSE(first->error);
  std::promise<void> end;
  server.keep_threads_busy(end.get_future().share());
  // More than is buffered.
  const auto abandoned = server.begin(5'000, Shape::any);
  const auto segment = server.begin(Draw::one_step, Shape::consecutive);
  const auto another = server.begin(1, Shape::any);
  server.abandon(*abandoned);
  end.set_value();
  server.run();
  CHECK_FALSE(segment->error);
  CHECK(count_of(segment->ranges) == 10);
  CHECK_FALSE(another->error);
}

TEST_CASE("drawing: who asks for what is in memory gets it, however many wait for more") {
  BusyServer server(10);
  server.begin(3, Shape::any);
  server.run();
  std::promise<void> end;
  server.keep_threads_busy(end.get_future().share());
  const auto many = server.begin(5'000, Shape::any);
  const auto as_many = server.begin(5'000, Shape::any);
  const auto few = server.begin(2, Shape::any);
  const auto run = server.begin(3, Shape::consecutive);
  server.look_again();
  CHECK(few->ranges == IdRanges{{4, 6}});
  CHECK(run->ranges == IdRanges{{6, 9}});
  CHECK(many->ranges.empty());
  end.set_value();
  server.run();
  CHECK(count_of(many->ranges) == 5'000);
  CHECK(count_of(as_many->ranges) == 5'000);
}

TEST_CASE("drawing: what is left of a segment is no part of an answer that another store completes") {
  BusyServer server(10);
  server.begin(3, Shape::any);
  server.run();
  std::promise<void> end;
  server.keep_threads_busy(end.get_future().share());
  const auto many = server.begin(100, Shape::any);
  CHECK(many->ranges.empty());
  server.turn_to_second();
  end.set_value();
  server.run();
  REQUIRE_FALSE(many->error);
  CHECK(count_of(many->ranges) == 100);
  CHECK(many->ranges.front().lo >= 1'000'000);
}

namespace {

/// Draws of a store's tags, one after the other, by a host's buffer or by none.
class TagServer {
 public:
  explicit TagServer(bool has_host_buffer) : drawing_(options(has_host_buffer)) {}

  std::shared_ptr<Draw> draw(const char* tag, std::uint64_t count, Shape shape) {
    return drawing_.draw(tag, count, shape);
  }
  std::shared_ptr<Draw> begin(const char* tag, std::uint64_t count) {
    return drawing_.begin(tag, count, Shape::any);
  }
  std::optional<std::int64_t> next(const char* tag) { return drawing_.next(tag); }
  void run() { drawing_.run(); }

  const SqliteStore store;

 private:
  Options options(bool has_host_buffer) const {
    Options options;
    options.store = store.options();
    options.store.timeout = 0ms;
    options.segments.timeout = 0ms;
    if (has_host_buffer)
      options.segments.host = leaf::HostOptions{.folder = folder_.path() / "run", .fetch_ahead = false};
    return options;
  }

  const leaf::test::TemporaryFolder folder_;
  TestDrawing drawing_;
};

}  // namespace

TEST_CASE("drawing: consecutive IDs leave out what is left of a segment that is too short, and no more") {
  TagServer server(/*has_host_buffer=*/true);
  leaf::Store admin = server.store.open();
  leaf::test::add_tag(admin, "order", 10);
  CHECK(server.draw("order", 7, Shape::consecutive)->ranges == IdRanges{{1, 8}});
  admin.grant(leaf::TagName("order"), 10);  // another host draws
  const auto rest_is_short = server.draw("order", 5, Shape::consecutive);
  REQUIRE_FALSE(rest_is_short->error);
  CHECK(rest_is_short->ranges == IdRanges{{21, 26}});
}

TEST_CASE("drawing: consecutive IDs begin in what is left of a segment where the tag has no others") {
  TagServer server(/*has_host_buffer=*/true);
  server.store.open().add_tag({.name = leaf::TagName("order"), .step = 100, .limit = 150});
  CHECK(server.draw("order", 1, Shape::any)->ranges == IdRanges{{1, 2}});
  CHECK(server.draw("order", 120, Shape::consecutive)->ranges == IdRanges{{2, 122}});
  const auto failed = server.draw("order", 30, Shape::consecutive);
  REQUIRE(failed->error);
  CHECK(std::string(failed->error->what()).starts_with("tag 'order' has only 29 IDs left"));
  CHECK(server.draw("order", 29, Shape::consecutive)->ranges == IdRanges{{122, 151}});
}

TEST_CASE("drawing: consecutive IDs may be more than a segment has") {
  for (const bool has_host_buffer : {true, false}) {
    CAPTURE(has_host_buffer);
    TagServer server(has_host_buffer);
    leaf::Store admin = server.store.open();
    leaf::test::add_tag(admin, "order", 10);
    server.draw("order", 7, Shape::consecutive);
    const auto many = server.draw("order", 1000, Shape::consecutive);
    REQUIRE_FALSE(many->error);
    CHECK(many->ranges.size() == 1);
    CHECK(count_of(many->ranges) == 1000);
  }
}

TEST_CASE("drawing: a draw of a tag that has too few IDs costs none") {
  for (const bool has_host_buffer : {true, false}) {
    for (const Shape shape : {Shape::any, Shape::consecutive}) {
      CAPTURE(has_host_buffer);
      CAPTURE(static_cast<int>(shape));
      TagServer server(has_host_buffer);
      server.store.open().add_tag({.name = leaf::TagName("few"), .limit = 5});
      CHECK(server.draw("few", 3, shape)->ranges == IdRanges{{1, 4}});
      const auto failed = server.draw("few", 3, shape);
      REQUIRE(failed->error);
      CHECK(failed->error->code() == leaf::ErrorCode::exhausted);
      CHECK(server.draw("few", 2, shape)->ranges == IdRanges{{4, 6}});
    }
  }
}

TEST_CASE("drawing: a draw of more than is in memory costs none of that while the store is away") {
  for (const bool has_host_buffer : {true, false}) {
    for (const Shape shape : {Shape::any, Shape::consecutive}) {
      CAPTURE(has_host_buffer);
      CAPTURE(static_cast<int>(shape));
      TagServer server(has_host_buffer);
      leaf::Store admin = server.store.open();
      leaf::test::add_tag(admin, "order", 100);
      CHECK(server.draw("order", 1, shape)->ranges == IdRanges{{1, 2}});
      leaf::test::SqliteSession lock(server.store.path());
      REQUIRE(lock.run("BEGIN IMMEDIATE"));
      for (const std::uint64_t count : {100, 150, 1000}) {
        const auto failed = server.draw("order", count, shape);
        REQUIRE(failed->error);
        CHECK(failed->error->code() == leaf::ErrorCode::unavailable);
      }
      CHECK(server.draw("order", 99, shape)->ranges == IdRanges{{2, 101}});
    }
  }
}

TEST_CASE("drawing: whoever asks for more than is in memory keeps nobody from what is there") {
  for (const bool has_host_buffer : {true, false}) {
    CAPTURE(has_host_buffer);
    TagServer server(has_host_buffer);
    leaf::Store admin = server.store.open();
    leaf::test::add_tag(admin, "order", 100);
    CHECK(server.draw("order", 1, Shape::any)->ranges == IdRanges{{1, 2}});
    leaf::test::SqliteSession lock(server.store.path());
    REQUIRE(lock.run("BEGIN IMMEDIATE"));
    const auto many = server.begin("order", 1000);
    CHECK(server.begin("order", 1)->ranges == IdRanges{{2, 3}});
    CHECK(server.begin("order", 10)->ranges == IdRanges{{3, 13}});
    CHECK(server.next("order") == 13);
    // The next to wait does so behind the first.
    const auto more = server.begin("order", 500);
    CHECK(more->ranges.empty());
    CHECK(server.begin("order", 1)->ranges == IdRanges{{14, 15}});
    server.run();
    for (const auto& draw : {many, more}) CHECK(draw->error);
  }
}

namespace {

/// Whoever sleeps waits for the test first.
class HeldClock final : public leaf::test::ManualClock {
 public:
  void sleep_for(std::chrono::nanoseconds duration) override {
    if (sleeps_++ == 0) asleep_.set_value();
    let_go_.wait();
    ManualClock::sleep_for(duration);
  }
  void wait_for_a_sleeper() { asleep_.get_future().wait(); }
  void let_go() { gate_.set_value(); }
  int sleeps() const { return sleeps_; }

 private:
  std::atomic<int> sleeps_{0};
  std::promise<void> asleep_, gate_;
  const std::shared_future<void> let_go_ = gate_.get_future().share();
};

struct CountingDrawer final : Drawer {
  void on_drawn() override { ++drawn; }
  int drawn = 0;
};

}  // namespace

TEST_CASE("drawing: snowflakes that nobody waits for any more keep nobody from theirs") {
  const SqliteStore store;
  store.open().set_layout(leaf::Layout::parse("time:32,worker:10,sequence:3/1s@1463673600000"));
  HeldClock clock;
  CountingDrawer drawer;
  Options options;
  options.store = store.options();
  options.store.clock = &clock;
  options.snowflakes.worker.owner = "here";
  options.snowflakes.timeout = 60s;
  SharedDrawing shared(options);
  boost::asio::io_context loop;
  DrawingJobs jobs;
  Drawing drawing(loop, jobs, shared);
  const auto begin = [&](std::uint64_t count) {
    auto draw = std::make_shared<Draw>(count, Shape::any, &drawer);
    CHECK_FALSE(drawing.begin("", draw));
    return draw;
  };
  const auto many = begin(8'000);  // of a thousand seconds
  clock.wait_for_a_sleeper();
  drawing.abandon("", *many);
  const auto one = begin(1);
  clock.let_go();
  const auto stays = boost::asio::make_work_guard(loop);
  while (drawer.drawn == 0) loop.run_one();
  CHECK_FALSE(one->error);
  CHECK(count_of(one->ranges) == 1);
  // Of a unit some 150 are left when its sleepers wake up early.
  CHECK(clock.sleeps() < 10 * 150);
}

TEST_CASE("drawing: the store's layout is asked for again, and kept while the store is away") {
  const SqliteStore store;
  leaf::test::ManualClock clock;
  Options options;
  options.store = store.options();
  options.store.clock = &clock;
  options.store.timeout = 0ms;
  SharedDrawing shared(options);
  CHECK_FALSE(shared.known_layout());
  CHECK(shared.layout() == leaf::Layout::parse("leaf"));
  leaf::Store(store.options()).set_layout(layout);
  clock.advance(29s);
  CHECK(shared.recent_layout() == leaf::Layout::parse("leaf"));
  clock.advance(2s);
  CHECK_FALSE(shared.recent_layout());
  CHECK(shared.layout() == layout);
  CHECK(shared.recent_layout() == layout);
  clock.advance(31s);
  fs::rename(store.path(), store.path() + ".away");
  CHECK(shared.layout() == layout);
  CHECK(shared.recent_layout() == layout);
  fs::rename(store.path() + ".away", store.path());
}

TEST_CASE("drawing: what is asked for comes from one store, whenever its name is turned") {
  bool is_warm = false, comes_back = false;
  SUBCASE("by the first who asks") {}
  SUBCASE("and back, by the first who asks") {
    comes_back = true;
  }
  SUBCASE("by others") {
    is_warm = true;
  }
  SUBCASE("and back, by others") {
    is_warm = comes_back = true;
  }
  for (int looks = 1; looks < 100'000; looks += 10'000) {
    CAPTURE(looks);
    TurnedServer server;
    if (is_warm) server.draw_all(2);
    CHECK(server.workers_of(1500, looks, comes_back).size() == 1);
  }
}
