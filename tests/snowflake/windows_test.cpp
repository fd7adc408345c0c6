#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "leaf/snowflake.hpp"
#include "leaf/store.hpp"
#include "support/manual_clock.hpp"
#include "support/sqlite_store.hpp"
#include "support/temporary_folder.hpp"
#include "support/worker_request.hpp"

namespace fs = std::filesystem;
using leaf::Layout;
using leaf::Store;
using leaf::test::SqliteStore;

namespace {

constexpr std::chrono::milliseconds window{100};

/// Does something when it is looked at for the n-th time.
class AlarmClock final : public leaf::test::ManualClock {
 public:
  std::chrono::steady_clock::time_point steady_now() override {
    if (left_ > 0 && --left_ == 0) ring();
    return ManualClock::steady_now();
  }
  void set(int looks) { left_ = looks; }
  bool has_rung() const { return left_ == 0; }

  std::function<void()> ring;

 private:
  int left_ = 0;
};

/// A name that leads to the first of two stores, which have different layouts, until it is turned.
struct TurnedName {
  TurnedName() {
    Store(second.options()).set_layout(Layout::parse("cosid"));
    for (const SqliteStore* store : {&first, &second}) {
      Store opened(store->options());
      layouts[opened.identity().deployment] = opened.layout().text();
    }
    clock.ring = [this] { turn(second); };
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
  bool follows = false;
  SUBCASE("a first one") {}
  SUBCASE("one that follows") {
    follows = true;
  }
  int drawn = 0, refused = 0;
  bool was_turned = true;
  for (int at = 1; was_turned; ++at) {
    CAPTURE(at);
    TurnedName name;
    try {
      std::optional<leaf::SnowflakeGenerator> generator;
      if (follows) {
        generator.emplace(name.store_options(), name.snowflake());
        generator->next();
        name.clock.advance(2 * window);
      }
      name.clock.set(at);
      if (!generator) generator.emplace(name.store_options(), name.snowflake());
      generator->next();
      CHECK(generator->layout().text() == name.layouts.at(generator->store().deployment));
      ++drawn;
    } catch (const leaf::Error& error) {
      const bool may_be =
          error.code() == leaf::ErrorCode::unavailable || error.code() == leaf::ErrorCode::refused;
      CHECK(may_be);
      ++refused;
    }
    was_turned = name.clock.has_rung();
  }
  CHECK(drawn > 0);
  CHECK(drawn + refused > 10);
}
