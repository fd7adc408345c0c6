#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "leaf/snowflake.hpp"
#include "leaf/store.hpp"
#include "support/manual_clock.hpp"
#include "support/sqlite_store.hpp"
#include "support/temporary_folder.hpp"
#include "support/worker_request.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using leaf::Layout;
using leaf::Store;
using leaf::test::SqliteStore;

namespace {

constexpr std::chrono::milliseconds window{100};

/// Does something when it is looked at for the n-th time, and perhaps something else later on.
class AlarmClock final : public leaf::test::ManualClock {
 public:
  std::chrono::steady_clock::time_point steady_now() override {
    if (left_ > 0 && --left_ == 0) ring();
    if (left_again_ > 0 && --left_again_ == 0) ring_again();
    return ManualClock::steady_now();
  }
  void set(int looks) { left_ = looks; }
  void set_again(int looks) { left_again_ = looks; }
  bool has_rung() const { return left_ == 0 && left_again_ == 0; }

  std::function<void()> ring;
  std::function<void()> ring_again;

 private:
  std::atomic<int> left_ = 0;  // threads that fetch look, too
  std::atomic<int> left_again_ = 0;
};

/// A name that leads to the first of two stores until it is turned.
struct TurnedName {
  explicit TurnedName(const std::string& layout_of_second) {
    Store(second.options()).set_layout(Layout::parse(layout_of_second));
    for (const SqliteStore* store : {&first, &second}) {
      Store opened(store->options());
      layouts[opened.identity().deployment] = opened.layout().text();
    }
    clock.ring = [this] { turn(second); };
    clock.ring_again = [this] { turn(first); };
    turn(first);
  }

  void turn(const SqliteStore& target) const {
    fs::create_symlink(target.path(), folder.path() / "new");
    fs::rename(folder.path() / "new", folder.path() / "leaf.db");
  }
  leaf::StoreOptions store_options() {
    leaf::StoreOptions options = first.options();
    options.url = "sqlite:" + (folder.path() / "leaf.db").string();
    options.clock = &clock;
    return options;
  }
  leaf::SnowflakeOptions snowflake() const {
    leaf::SnowflakeOptions options;
    options.worker = leaf::test::request_of("here");
    options.worker.window = window;
    options.host = leaf::HostOptions{.folder = folder.path() / "run", .fetch_ahead = false};
    return options;
  }

  const SqliteStore first, second;
  const leaf::test::TemporaryFolder folder;
  std::map<std::string, std::string> layouts;  ///< of each deployment
  AlarmClock clock;
};

}  // namespace

TEST_CASE("windows: each has the layout of the store that leased it, whenever the store's name was turned") {
  bool follows = false, is_shared = true;
  std::string layout = "cosid";
  SUBCASE("a first one") {}
  SUBCASE("one that follows") {
    follows = true;
    SUBCASE("for the host") {}
    SUBCASE("for one process") {
      is_shared = false;
      layout = "41,3,12";  // windows in it look like those of the first store
    }
  }
  int drawn = 0, refused = 0;
  bool was_turned = true;
  for (int at = 1; was_turned; ++at) {
    CAPTURE(at);
    TurnedName name(layout);
    leaf::SnowflakeOptions snowflake = name.snowflake();
    if (!is_shared) snowflake.host.reset();
    try {
      std::optional<leaf::SnowflakeGenerator> generator;
      if (follows) {
        generator.emplace(name.store_options(), snowflake);
        generator->next();
        name.clock.advance(2 * window);
      }
      name.clock.set(at);
      if (!generator) generator.emplace(name.store_options(), snowflake);
      generator->next();
      CHECK(generator->layout().text() == name.layouts.at(generator->store().deployment));
      ++drawn;
    } catch (const leaf::Error& error) {
      const bool may_be = error.code() == leaf::ErrorCode::unavailable ||
                          error.code() == leaf::ErrorCode::refused ||
                          (!is_shared && error.code() == leaf::ErrorCode::usage);
      CHECK(may_be);
      ++refused;
    }
    was_turned = name.clock.has_rung();
  }
  CHECK(drawn > 0);
  CHECK(drawn + refused > 10);
}

TEST_CASE("windows: a store whose name led elsewhere for a moment leases none before the end of the last") {
  constexpr int units_left = 5;
  int fetched = 0;
  bool was_turned = true;
  for (int at = 1; was_turned; ++at) {
    for (int again = at + 1; again < at + 12; ++again) {
      CAPTURE(at);
      CAPTURE(again);
      TurnedName name("leaf");
      leaf::SnowflakeGenerator generator(name.store_options(), name.snowflake());
      generator.next();
      name.clock.advance(window - units_left * 1ms);
      const std::int64_t last = generator.next();
      name.clock.set(at);
      name.clock.set_again(again);
      bool is_good = false;
      try {
        generator.fetch();
        ++fetched;
        was_turned = name.clock.has_rung();
        // All that is left of the window. Whoever comes next has not seen them.
        const Layout layout = generator.layout();
        const std::int64_t ids_left = units_left * (layout.max_sequence() + 1) - layout.sequence_of(last) - 1;
        std::vector<std::int64_t> ids(static_cast<std::size_t>(ids_left));
        generator.next(ids);
        name.clock.set_back((units_left - 1) * 1ms);
        is_good = leaf::SnowflakeGenerator(name.store_options(), name.snowflake()).next() > ids.back();
      } catch (const leaf::Error& error) {
        was_turned = name.clock.has_rung();
        is_good = error.code() == leaf::ErrorCode::unavailable || error.code() == leaf::ErrorCode::refused;
      }
      CHECK(is_good);
    }
  }
  CHECK(fetched > 0);
}

TEST_CASE("windows: a name that leads to another store for good has windows of that one at once") {
  TurnedName name("leaf");
  leaf::SnowflakeOptions snowflake = name.snowflake();
  snowflake.worker.window = 1h;
  SUBCASE("for the host") {}
  SUBCASE("for one process") {
    snowflake.host.reset();
    snowflake.timeout = 0ms;
  }
  leaf::SnowflakeGenerator generator(name.store_options(), snowflake);
  generator.next();
  const leaf::StoreIdentity before = generator.store();
  name.turn(name.second);
  CHECK_NOTHROW(generator.fetch());
  CHECK_NOTHROW(generator.next());
  CHECK(generator.store() != before);
}

TEST_CASE(
    "windows: a name that is turned for good while a lease is renewed has windows of the other store at "
    "once") {
  int moved = 0;
  bool was_turned = true;
  for (int at = 1; was_turned; ++at) {
    CAPTURE(at);
    TurnedName name("leaf");
    leaf::SnowflakeOptions snowflake = name.snowflake();
    snowflake.host.reset();
    snowflake.worker.window = 1h;
    leaf::SnowflakeGenerator generator(name.store_options(), snowflake);
    generator.next();
    const leaf::StoreIdentity before = generator.store();
    name.clock.set(at);
    try {
      generator.fetch();
    } catch (const leaf::Error& error) {
      CHECK(error.code() == leaf::ErrorCode::unavailable);
    }
    was_turned = name.clock.has_rung();
    if (generator.store() == before) continue;
    ++moved;
    CHECK_NOTHROW(generator.next());
  }
  CHECK(moved > 0);
}
