#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "leaf/host.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "support/error_of.hpp"
#include "support/manual_clock.hpp"
#include "support/sqlite_store.hpp"
#include "support/temporary_folder.hpp"
#include "support/wait_for.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using leaf::ErrorCode;
using leaf::SegmentAllocator;
using leaf::SnowflakeGenerator;
using leaf::Store;
using leaf::TagName;
using leaf::test::error_code;
using leaf::test::ManualClock;
using leaf::test::TemporaryFolder;

namespace {

constexpr std::int64_t start_of_other = 1'000'000;

/// Two stores, `v1/leaf.db` and `v2/leaf.db`, names that lead to the first by a symbolic link, and a host.
/// The other store's tag starts higher.
struct LinkedHost {
  LinkedHost() {
    for (const char* version : {"v1", "v2"}) {
      fs::create_directory(at(version));
      store(version).migrate();
    }
    store("v1").add_tag({.name = order, .step = 1000});
    store("v2").add_tag({.name = order, .step = 1000, .start = start_of_other});
    turn_to("v1");
  }

  fs::path at(const fs::path& path) const { return home.path() / path; }
  leaf::StoreOptions options(const fs::path& path) {
    leaf::StoreOptions options;
    options.url = "sqlite:" + at(path).string();
    options.clock = &clock;
    return options;
  }
  Store store(const std::string& version) { return Store(options(version + "/leaf.db")); }
  leaf::HostOptions host(const std::string& run = "run") const {
    return {.folder = at(run), .fetch_ahead = false};
  }

  /// As `ln -sfn` does, for a link to the folder and one to the file.
  void turn_to(const std::string& version) {
    for (const auto& [link, target] :
         {std::pair<fs::path, fs::path>{"cur", version}, {"cur.db", fs::path(version) / "leaf.db"}}) {
      fs::remove(at("new"));
      fs::create_symlink(target, at("new"));
      fs::rename(at("new"), at(link));
    }
  }

  SegmentAllocator allocator(const fs::path& path) {
    return SegmentAllocator(options(path), {.timeout = 1s, .host = host()});
  }
  std::int64_t next(const std::string& version) { return allocator(version + "/leaf.db").tag(order).next(); }
  SnowflakeGenerator generator(const fs::path& path, const std::string& run = "run") {
    leaf::SnowflakeOptions snowflake;
    snowflake.worker.owner = run;
    snowflake.timeout = 1s;
    snowflake.host = host(run);
    return SnowflakeGenerator(options(path), snowflake);
  }

  TemporaryFolder home;
  ManualClock clock;
  const TagName order{"order"};
};

/// At its N-th look at the time, something else happens first.
class InterruptedClock final : public ManualClock {
 public:
  void at_look(int number, std::function<void()> what) {
    left_ = number;
    what_ = std::move(what);
  }
  bool has_come() const { return left_ < 0; }

  std::chrono::system_clock::time_point now() override {
    if (what_ && left_-- == 0) std::exchange(what_, nullptr)();
    return ManualClock::now();
  }

 private:
  int left_ = 0;
  std::function<void()> what_{};
};

/// The name by a link to the folder, or by one to the file.
fs::path linked_name() {
  fs::path name;
  SUBCASE("a link to the folder") {
    name = "cur/leaf.db";
  }
  SUBCASE("a link to the file") {
    name = "cur.db";
  }
  return name;
}

}  // namespace

TEST_CASE("links: a program goes to the store that a link is turned to, and the former one keeps its name") {
  const fs::path name = linked_name();
  if (name.empty()) return;
  LinkedHost linked;
  const auto used = linked.store("v1").grant(linked.order, 5000).range;
  SegmentAllocator running = linked.allocator(name);
  leaf::SegmentTag tag = running.tag(linked.order);
  CHECK(tag.next() == used.hi);
  linked.turn_to("v2");
  CHECK(tag.next_ranges(2000).front().lo >= start_of_other);
  CHECK(tag.next() >= start_of_other);
  CHECK(tag.store() == linked.store("v2").identity());
  // By the former store's own name the other one's IDs came.
  const std::int64_t of_first = linked.next("v1");
  CHECK(of_first > used.hi);
  CHECK(of_first < start_of_other);
  CHECK(linked.next("v2") >= start_of_other);
  CHECK(linked.allocator("v1/leaf.db").tag(linked.order).store() == linked.store("v1").identity());
}

TEST_CASE(
    "links: a generator goes to the store that a link is turned to, and the former one keeps its name") {
  const fs::path name = linked_name();
  if (name.empty()) return;
  LinkedHost linked;
  // Another host holds the first worker of one store, this one that of the other.
  SnowflakeGenerator elsewhere = linked.generator("v1/leaf.db", "elsewhere");
  std::set<std::int64_t> ids{elsewhere.next()};
  SnowflakeGenerator running = linked.generator(name);
  ids.insert(running.next());
  linked.turn_to("v2");
  linked.clock.advance(6min);
  running.fetch();
  CHECK(running.store() == linked.store("v2").identity());
  SnowflakeGenerator here = linked.generator("v1/leaf.db");
  for (int i = 0; i < 100; ++i) {
    ids.insert(here.next());
    ids.insert(elsewhere.next());
  }
  CHECK(ids.size() == 202);
  CHECK(here.store() == linked.store("v1").identity());
}

TEST_CASE("links: what one call is granted by the store that a link is turned to is no mark of the former") {
  const fs::path name = linked_name();
  if (name.empty()) return;
  LinkedHost linked;
  SegmentAllocator running = linked.allocator(name);
  leaf::SegmentTag tag = running.tag(linked.order);
  CHECK(tag.next() == 1);
  linked.turn_to("v2");
  CHECK(tag.next_ranges(2000).front().lo >= start_of_other);
  SegmentAllocator former = linked.allocator("v1/leaf.db");
  CHECK(former.tag(linked.order).supply().left > leaf::max_id - start_of_other);
  CHECK(tag.next() >= start_of_other);
  // What the former store grants to who fetches for the other one follows on what is buffered of it.
  linked.turn_to("v1");
  tag.fetch();
  const auto ranges = tag.next_ranges(1999);
  REQUIRE(ranges.size() == 1);
  CHECK(ranges.front() == leaf::Range{2, 2001});
}

TEST_CASE("links: what fills one array comes from one store, in whatever memory") {
  for (const bool is_shared : {true, false}) {
    CAPTURE(is_shared);
    LinkedHost linked;
    SegmentAllocator running(
        linked.options("cur.db"),
        {.timeout = 1s, .host = is_shared ? std::optional(linked.host()) : std::nullopt});
    leaf::SegmentTag tag = running.tag(linked.order);
    CHECK(tag.next() == 1);
    linked.turn_to("v2");
    std::vector<std::int64_t> ids(5000);
    tag.next(ids);
    CHECK(std::ranges::is_sorted(ids));
    CHECK(std::set(ids.begin(), ids.end()).size() == ids.size());
    CHECK(ids.front() >= start_of_other);
  }
}

TEST_CASE("links: what snowflakes fill one array come from one store, in whatever memory") {
  for (const bool is_shared : {true, false}) {
    CAPTURE(is_shared);
    LinkedHost linked;
    // There the first worker is another host's, and here this one's.
    SnowflakeGenerator elsewhere = linked.generator("v1/leaf.db", "elsewhere");
    leaf::SnowflakeOptions snowflake;
    snowflake.worker.owner = "here";
    snowflake.worker.window = 20ms;
    if (is_shared) snowflake.host = linked.host();
    SnowflakeGenerator running(linked.options("cur.db"), snowflake);
    CHECK(running.layout().worker_of(running.next()) == 1);
    linked.turn_to("v2");
    std::vector<std::int64_t> ids(200'000);  // more than the windows have that were leased before
    running.next(ids);
    const auto is_of_second = [&](std::int64_t id) { return running.layout().worker_of(id) == 0; };
    CHECK(std::ranges::all_of(ids, is_of_second));
    CHECK(std::ranges::is_sorted(ids));
  }
}

TEST_CASE("links: who draws looks once a second where a link leads") {
  const fs::path name = linked_name();
  if (name.empty()) return;
  for (const bool is_known : {true, false}) {  // where the link is turned to, to this host
    CAPTURE(is_known);
    LinkedHost linked;
    if (is_known) linked.next("v2");
    leaf::HostOptions host = linked.host();
    host.fetch_ahead = true;
    SegmentAllocator running(linked.options(name), {.timeout = 1s, .max_connections = 1, .host = host});
    leaf::SegmentTag tag = running.tag(linked.order);
    CHECK(tag.next() == 1);
    linked.clock.wait_for_sleepers(1);
    linked.turn_to("v2");
    CHECK(tag.next() == 2);
    const auto goes_to = [&](const std::string& version) {
      linked.clock.wait_for_sleepers(1);
      linked.clock.advance(1s);
      return leaf::test::wait_for([&] { return tag.store() == linked.store(version).identity(); });
    };
    CHECK(goes_to("v2"));
    CHECK(tag.next() == start_of_other + (is_known ? 1 : 0));
    linked.turn_to("v1");
    CHECK(goes_to("v1"));
    CHECK(tag.next() == 3);
  }
}

TEST_CASE(
    "links: a link that is turned while a store grants leaves no note of the one under another's name") {
  LinkedHost linked;
  linked.next("v2");
  std::function<void()> after_grant = [] {};
  auto options = linked.options("cur/leaf.db");
  options.while_asked = [&] {
    return std::shared_ptr<void>(nullptr, [&](void*) { std::exchange(after_grant, [] {})(); });
  };
  SegmentAllocator running(options, {.timeout = 1s, .host = linked.host()});
  leaf::SegmentTag tag = running.tag(linked.order);
  CHECK(tag.next() == 1);
  after_grant = [&] { linked.turn_to("v2"); };
  SUBCASE("into the buffer") {
    tag.fetch();
  }
  SUBCASE("beside it") {
    tag.next_ranges(5000);
  }
  CHECK(linked.next("v2") == start_of_other + 1);
  CHECK(linked.next("v1") < start_of_other);
  CHECK(linked.allocator("cur/leaf.db").tag(linked.order).next() == start_of_other + 2);
}

TEST_CASE("links: a window that is renewed while a link is turned to a copy of the store is not used") {
  bool has_come = true;
  for (int look = 0; has_come; ++look) {
    CAPTURE(look);
    LinkedHost linked;
    InterruptedClock clock;
    const auto open = [&](const fs::path& path) {
      leaf::StoreOptions store = linked.options(path);
      store.clock = &clock;
      leaf::SnowflakeOptions snowflake;
      snowflake.worker.owner = "a";
      snowflake.timeout = 1s;
      snowflake.host = linked.host();
      return SnowflakeGenerator(store, snowflake);
    };
    SnowflakeGenerator running = open("cur.db");
    running.next();
    fs::copy_file(linked.at("v1/leaf.db"), linked.at("v2/leaf.db"), fs::copy_options::overwrite_existing);
    clock.advance(6min);
    running.next();
    REQUIRE(running.is_fetch_due());
    clock.at_look(look, [&] { linked.turn_to("v2"); });
    try {
      running.fetch();
    } catch (const leaf::Error& error) {
      CHECK(error.code() != ErrorCode::failed);
    }
    has_come = clock.has_come();

    clock.advance(5min);  // into the next window
    std::set<std::int64_t> drawn;
    std::size_t count = 0;
    for (const char* path : {"v1/leaf.db", "v2/leaf.db"}) {
      try {
        SnowflakeGenerator generator = open(path);
        std::vector<std::int64_t> ids(1000);
        generator.next(ids);
        drawn.insert(ids.begin(), ids.end());
        count += ids.size();
      } catch (const leaf::Error& error) {
        CHECK(error.code() == ErrorCode::refused);
      }
    }
    CHECK(count > 0);
    CHECK(drawn.size() == count);
  }
}

TEST_CASE("links: what doctor notes of a name is of the file that it asked") {
  LinkedHost linked;
  CHECK(linked.next("v1") == 1);
  CHECK(linked.next("v2") == start_of_other);
  Store asked(linked.options("cur/leaf.db"));
  const std::string url = linked.options("cur/leaf.db").url;
  CHECK_FALSE(leaf::refresh_store_name(url, linked.host(), asked, linked.clock));
  linked.turn_to("v2");
  CHECK_FALSE(leaf::refresh_store_name(url, linked.host(), asked, linked.clock));
  CHECK(linked.next("v1") == 2);
  CHECK(linked.next("v2") == start_of_other + 1);
  // A store that was opened by another name says nothing of this one.
  Store other(linked.options("v1/leaf.db"));
  leaf::refresh_store_name(url, linked.host(), other, linked.clock);
  CHECK(linked.next("v2") == start_of_other + 2);
  CHECK(leaf::forget_store(url, linked.host(), 1s, linked.clock) == 1);
  CHECK(linked.next("v1") == 3);
  CHECK(linked.next("v2") > start_of_other + 3);
}

TEST_CASE("links: '..' after a link leads to where the link does, and nowhere if no file is there") {
  LinkedHost linked;
  fs::create_directories(linked.at("b/sub"));
  fs::create_directory_symlink("../b/sub", linked.at("v1/link"));
  const fs::path name = "v1/link/../leaf.db";
  CHECK(linked.next("v1") == 1);
  CHECK(error_code([&] { linked.allocator(name).tag(linked.order).next(); }) == ErrorCode::usage);
  fs::rename(linked.at("v2/leaf.db"), linked.at("b/leaf.db"));
  CHECK(linked.allocator(name).tag(linked.order).next() == start_of_other);
  CHECK(linked.next("v1") == 2);
  fs::rename(linked.at("b/leaf.db"), linked.at("b/away.db"));
  CHECK(error_code([&] { linked.allocator(name).tag(linked.order).next(); }) == ErrorCode::usage);
  CHECK(leaf::forget_store(linked.options(name).url, linked.host(), 1s, linked.clock) == 1);
  CHECK(linked.next("v1") == 3);  // that was of the other one
  fs::remove_all(linked.at("b"));
  CHECK(leaf::forget_store(linked.options(name).url, linked.host(), 1s, linked.clock) == 0);
  CHECK(error_code([&] { linked.allocator(name).tag(linked.order).next(); }) == ErrorCode::usage);
}

TEST_CASE("links: what is left of a store whose link leads to a file that is gone can be given up") {
  LinkedHost linked;
  for (const char* name : {"cur/leaf.db", "cur.db"}) {
    CHECK(linked.allocator(name).tag(linked.order).next() > 0);
    fs::rename(linked.at("v1/leaf.db"), linked.at("v1/away.db"));
    CHECK(leaf::forget_store(linked.options(name).url, linked.host(), 1s, linked.clock) == 1);
    fs::rename(linked.at("v1/away.db"), linked.at("v1/leaf.db"));
  }
}

TEST_CASE("links: a store whose folder is away keeps its name, through links that lead there") {
  LinkedHost linked;
  CHECK(linked.next("v1") > 0);
  fs::create_symlink("v1", linked.at("beside"));
  fs::create_symlink(linked.at("cur") / "leaf.db", linked.at("deep.db"));
  fs::rename(linked.at("v1"), linked.at("away"));
  const auto is_known = [&](const fs::path& name) {
    return leaf::last_known_store(linked.options(name).url, linked.host()).has_value();
  };
  for (const char* name :
       {"v1/leaf.db", "./v1/./leaf.db", "cur/leaf.db", "cur.db", "beside/leaf.db", "deep.db"}) {
    CAPTURE(name);
    CHECK(is_known(name));
  }
  // '..' after what is away leads nobody knows where.
  for (const char* name :
       {"v2/leaf.db", "v2/v1/leaf.db", "away/leaf.db", "v1/../v1/leaf.db", "cur/../v1/leaf.db", "v1/"}) {
    CAPTURE(name);
    CHECK_FALSE(is_known(name));
  }
  fs::create_symlink("round", linked.at("round"));
  CHECK_FALSE(is_known("round/leaf.db"));
}

TEST_CASE("links: a buffer is shown under the name of its own file") {
  LinkedHost linked;
  SegmentAllocator running = linked.allocator("cur/leaf.db");
  leaf::SegmentTag tag = running.tag(linked.order);
  tag.next();
  linked.turn_to("v2");
  tag.next_ranges(2000);
  const auto buffers = leaf::host_buffers(linked.host(), linked.clock);
  REQUIRE(buffers.size() == 2);
  for (const leaf::HostBuffer& buffer : buffers) {
    const std::string version = buffer.deployment == linked.store("v1").identity().deployment ? "v1" : "v2";
    CHECK(buffer.store == "sqlite:" + fs::canonical(linked.at(version)).string() + "/leaf.db");
    CHECK_FALSE(buffer.is_former);
  }
}
