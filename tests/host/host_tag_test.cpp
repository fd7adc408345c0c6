#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/state_patch.hpp"
#include "leaf/host.hpp"
#include "leaf/segment.hpp"
#include "support/bitmap.hpp"
#include "support/error_of.hpp"
#include "support/number_of_parent.hpp"
#include "support/sqlite_session.hpp"
#include "support/test_host.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using leaf::ErrorCode;
using leaf::Range;
using leaf::SegmentAllocator;
using leaf::TagName;
using leaf::test::add_tag;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::error_text;
using leaf::test::proposes;
using leaf::test::SqliteStore;
using leaf::test::TestHost;

namespace {

/// A store, a folder of host state, and time.
struct SegmentHost : TestHost {
  /// As in a process of its own.
  SegmentAllocator allocator() {
    return SegmentAllocator(store_options(), {.timeout = 1s, .host = host_options()});
  }
  std::uint64_t drop(std::int64_t floor) {
    return leaf::drop_host_buffer(admin.identity(), host_options(), order, floor, 1s, clock);
  }

  const TagName order{"order"};
  leaf::Store admin = store.open();
};

}  // namespace

TEST_CASE("host tag: all processes draw from one buffer, in order, whatever comes after whatever") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  std::int64_t last = 0;
  for (std::uint64_t round = 1; round <= 60; ++round) {
    SegmentAllocator allocator = host.allocator();
    leaf::SegmentTag tag = allocator.tag(host.order);
    for (const Range range : tag.next_ranges(round % 7 == 0 ? 5000 : round % 13 + 1)) {
      CHECK(range.lo > last);
      last = range.hi - 1;
    }
    if (round % 3 == 0 && tag.claim_fetch()) tag.fetch();
  }
}

namespace {

/// Calls `on_look` when it is asked for the time of day.
class WatchedClock : public leaf::test::ManualClock {
 public:
  std::chrono::system_clock::time_point now() override {
    if (on_look) on_look();
    return ManualClock::now();
  }
  std::function<void()> on_look;
};

/// A tag that one ID is drawn of, and what happens when the time is looked at.
struct WatchedTag : SegmentHost {
  WatchedTag() {
    add_tag(admin, "order", 10);
    tag = watched.tag(order);
    CHECK(tag.next() == 1);
  }
  leaf::StoreOptions options() {
    leaf::StoreOptions options = store_options();
    options.clock = &watch;
    return options;
  }

  WatchedClock watch;
  SegmentAllocator watched{options(), {.timeout = 1s, .host = host_options()}};
  leaf::SegmentTag tag;
};

}  // namespace

TEST_CASE("host tag: whoever has drawn from a store that is gone is not told to make one") {
  SegmentHost host;
  add_tag(host.admin, "order", 1);
  // In a process of its own, and in one that goes on; by buffers of the host, and of its own; without one.
  SegmentAllocator shared = host.allocator();
  SegmentAllocator own(host.store_options(), {.timeout = 1s, .max_step = 1});
  leaf::Store direct = host.open();
  shared.tag(host.order).next_ranges(50);
  own.tag(host.order).next_ranges(50);
  direct.grant(host.order, 1);
  const auto hints = [&] {
    SegmentAllocator another = host.allocator();
    const auto draw = [&](SegmentAllocator& allocator) {
      return error_of([&] { allocator.tag(host.order).next_ranges(5000); }).hint();
    };
    return std::vector<std::string>{draw(shared), draw(own), draw(another),
                                    error_of([&] { direct.grant(host.order, 1); }).hint()};
  };
  fs::rename(host.store.path(), host.store.path() + ".away");
  for (const std::string& hint : hints())
    CHECK(hint.starts_with("this host has drawn IDs from a store of that name"));
  std::ofstream(host.store.path()).close();
  for (const std::string& hint : hints())
    CHECK(hint.starts_with("this host has drawn IDs from a store of that name"));
}

TEST_CASE("host tag: many IDs whose file is taken away meanwhile come after those that others draw then") {
  WatchedTag host;
  std::int64_t drawn = 0;
  host.watch.on_look = [&] {
    if (drawn != 0 || host.admin.tag(host.order).next_id < 100) return;
    fs::remove(leaf::test::state_file_in(host.run));
    drawn = host.allocator().tag(host.order).next();
  };
  std::vector<Range> ranges = host.tag.next_ranges(200);
  REQUIRE(drawn != 0);
  CHECK(ranges.front().lo > drawn);
}

TEST_CASE("host tag: what is granted of a tag that was made anew is lost if the tag is raised by then") {
  WatchedTag host;
  host.admin.remove_tag(host.order);
  add_tag(host.admin, "order", 10);
  const std::int64_t begin = host.admin.tag(host.order).next_id;
  std::int64_t floor = begin;
  SUBCASE("and not otherwise") {}
  SUBCASE("raised") {
    host.watch.on_look = [&] {
      if (floor != begin || host.admin.tag(host.order).next_id == begin) return;
      floor = host.admin.update_tag(host.order, {.raise_to = begin + 1000}).next_id;
    };
  }
  host.tag.fetch();
  CHECK(host.tag.next() == floor);
}

TEST_CASE("host tag: what is left is what the store has left and what is buffered here") {
  SegmentHost host;
  host.admin.add_tag({.name = host.order, .step = 1000, .limit = 10});
  SegmentAllocator allocator = host.allocator();
  leaf::SegmentTag tag = allocator.tag(host.order);
  const auto refusal_of = [&](std::uint64_t count) {
    const std::string text = error_text([&] { tag.next_ranges(count); });
    return text.substr(0, text.find(" | "));
  };
  CHECK(refusal_of(11) == "tag 'order' has only 10 IDs left (limit 10)");
  CHECK(tag.left() == 10);
  CHECK(tag.next_ranges(9) == std::vector<Range>{{1, 10}});
  CHECK(refusal_of(2) == "tag 'order' has only 1 ID left (limit 10)");
  CHECK(tag.left() == 1);
  CHECK(tag.next() == 10);
  CHECK(refusal_of(1) == "tag 'order' is used up: its limit is 10");
  CHECK(tag.left() == 0);
}

TEST_CASE("host tag: what is left counts neither twice nor what another host has got") {
  SegmentHost host;
  host.admin.add_tag({.name = host.order, .step = 10, .limit = 100});
  SegmentAllocator allocator = host.allocator();
  leaf::SegmentTag tag = allocator.tag(host.order);
  CHECK(tag.next() == 1);
  host.admin.grant(host.order, 30);
  tag.fetch();  // 41 to 50, or to 60
  const std::int64_t granted = host.admin.tag(host.order).next_id - 1;
  CHECK(tag.left() == 9 + (granted - 40) + (100 - granted));
  CHECK(error_text([&] { tag.next_ranges(70); }).starts_with("tag 'order' has only 69 IDs left (limit 100)"));
  CHECK(tag.next_ranges(69).size() == 2);
  CHECK(tag.left() == 0);
}

TEST_CASE(
    "host tag: many IDs come in one piece behind what is buffered, and nothing buffered is left before") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  SegmentAllocator allocator = host.allocator();
  leaf::SegmentTag tag = allocator.tag(host.order);
  CHECK(tag.next_ranges(1) == std::vector<Range>{{1, 2}});
  tag.fetch();
  host.admin.grant(host.order, 100);  // another host draws
  const auto ranges = tag.next_ranges(10'000);
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].lo == 2);
  CHECK(ranges[1].size() == 10'000 - ranges[0].size());
  const std::int64_t end = ranges[1].hi;
  CHECK(host.admin.tag(host.order).next_id == end);
  CHECK(tag.next() == end);
}

TEST_CASE("host tag: many IDs that the limit forbids are refused, and nothing buffered is lost") {
  SegmentHost host;
  host.admin.add_tag({.name = host.order, .step = 10, .limit = 100});
  SegmentAllocator allocator = host.allocator();
  leaf::SegmentTag tag = allocator.tag(host.order);
  CHECK(tag.next() == 1);
  CHECK(error_code([&] { tag.next_ranges(200); }) == ErrorCode::exhausted);
  for (std::int64_t id = 2; id <= 100; ++id) CHECK(tag.next() == id);
  CHECK(error_code([&] { tag.next(); }) == ErrorCode::exhausted);
  CHECK(tag.limit() == 100);
}

TEST_CASE("host tag: IDs that come in one piece past a limit that was raised know the new one") {
  SegmentHost host;
  host.admin.add_tag({.name = host.order, .step = 10, .limit = 100});
  SegmentAllocator allocator = host.allocator();
  leaf::SegmentTag tag = allocator.tag(host.order);
  CHECK(tag.next() == 1);
  host.admin.update_tag(host.order, {.limit = 1000});
  CHECK(tag.next_ranges(200).back().hi == 202);
  CHECK(tag.limit() == 1000);
  CHECK(tag.left() == 1000 - 201);
  CHECK_FALSE(tag.supply().is_low());
}

TEST_CASE("host tag: a call that fails with two segments buffered costs none of them") {
  SegmentHost host;
  host.admin.add_tag({.name = host.order, .step = 100, .limit = 250});
  SegmentAllocator allocator = host.allocator();
  leaf::SegmentTag tag = allocator.tag(host.order);
  tag.next_ranges(15);
  tag.fetch();  // 16 to 200 are buffered
  SUBCASE("the tag has too few") {
    CHECK(error_text([&] {
            tag.next_ranges(240);
          }).starts_with("tag 'order' has only 235 IDs left (limit 250)"));
  }
  SUBCASE("the store is away") {
    leaf::test::SqliteSession lock(host.store.path());
    REQUIRE(lock.run("BEGIN IMMEDIATE"));
    auto options = host.store.options();
    options.timeout = 0ms;
    SegmentAllocator hasty(options, {.timeout = 0ms, .host = host.host_options()});
    CHECK(error_code([&] { hasty.tag(host.order).next_ranges(186); }) == ErrorCode::unavailable);
  }
  CHECK(tag.next_ranges(235) == std::vector<Range>{{16, 251}});
}

TEST_CASE("host tag: two stores that share a folder keep apart") {
  SegmentHost host;
  SqliteStore production;
  leaf::Store admin = production.open();
  host.admin.add_tag({.name = host.order, .step = 3, .start = 1});
  admin.add_tag({.name = host.order, .step = 3, .start = 1'000'000});
  for (std::int64_t i = 0; i < 40; ++i) {
    SegmentAllocator staging = host.allocator();
    SegmentAllocator other(production.options(), {.host = host.host_options()});
    CHECK(staging.tag(host.order).next() == 1 + i);
    CHECK(other.tag(host.order).next() == 1'000'000 + i);
  }
}

TEST_CASE("host tag: children that are forked of a process that has drawn all get IDs of their own") {
  constexpr int children = 8, per_child = 300;
  SegmentHost host;
  add_tag(host.admin, "order", 7);
  // The step stays short, so that all of them go to the store again and again.
  SegmentAllocator allocator(host.store.options(),
                             {.timeout = 30s, .max_step = 7, .host = host.host_options()});
  leaf::SegmentTag tag = allocator.tag(host.order);
  leaf::test::Bitmap seen(10'000'000);
  int repeated = 0;
  const auto note = [&](std::int64_t id) { repeated += !seen.insert(id); };
  for (int i = 0; i < 20; ++i) note(tag.next());

  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  std::vector<pid_t> pids;
  for (int child = 0; child < children; ++child) {
    pids.push_back(fork());
    if (pids.back() != 0) continue;
    try {
      for (int i = 0; i < per_child; ++i) {
        const std::int64_t id = tag.next();
        if (write(pipe_ends[1], &id, sizeof id) != sizeof id) _exit(1);
      }
    } catch (...) {
      _exit(2);
    }
    _exit(0);
  }
  for (int i = 0; i < per_child; ++i) note(tag.next());
  for (int i = 0; i < children * per_child; ++i) {
    std::int64_t id = 0;
    REQUIRE(read(pipe_ends[0], &id, sizeof id) == sizeof id);
    note(id);
  }
  for (const pid_t pid : pids) {
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
  for (int i = 0; i < 20; ++i) note(tag.next());
  CHECK(repeated == 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

namespace {

/// Descriptors of this process that lead to `file`.
int open_descriptors(const fs::path& file) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    count += fs::read_symlink(entry.path(), gone) == file;
  }
  return count;
}

}  // namespace

TEST_CASE("host tag: an allocator of many tags keeps as many connections as it may, not one for each") {
  constexpr int tags = 20;
  SegmentHost host;
  const int before = open_descriptors(host.store.path());
  SegmentAllocator allocator(host.store.options(), {.timeout = 30s, .host = host.host_options()});
  for (int i = 0; i < tags; ++i) {
    const std::string name = "tag" + std::to_string(i);
    add_tag(host.admin, name, 10);
    CHECK(allocator.tag(TagName(name)).next() == 1);
  }
  // Those who wait have two, and so has who fetches ahead.
  CHECK(open_descriptors(host.store.path()) - before <= 4);
}

TEST_CASE("host tag: an allocator keeps a file of each tag open, 64 for marks, and the folder once for all") {
  constexpr int tags = 100, marks = 64;
  SegmentHost host;
  SegmentAllocator allocator(host.store.options(), {.timeout = 30s, .host = host.host_options()});
  const auto draw_from = [&](const std::string& name) {
    add_tag(host.admin, name, 1000);
    CHECK(allocator.tag(TagName(name)).next() == 1);
  };
  const auto all_descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  draw_from("first");
  draw_from("second");
  const auto before = all_descriptors();
  for (int i = 0; i < tags; ++i) draw_from("tag" + std::to_string(i));
  // A connection more is what who fetches ahead may have opened meanwhile.
  CHECK(all_descriptors() - before <= tags + marks + 2);
  // One for what is buffered, one for the marks.
  CHECK(open_descriptors(host.run) <= 2);
}

TEST_CASE("host tag: to look at what is buffered leaves no descriptor open") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  host.allocator().tag(host.order).next();
  const int before = open_descriptors(host.run);
  CHECK(leaf::host_buffers(host.host_options(), host.clock).size() == 1);
  CHECK(open_descriptors(host.run) == before);
}

TEST_CASE("host tag: threads that fetch at once have a connection each, and share them later") {
  constexpr int threads = 8, rounds = 20;
  SegmentHost host;
  for (int i = 0; i < threads; ++i) add_tag(host.admin, "tag" + std::to_string(i), 2);
  SegmentAllocator allocator(host.store.options(),
                             {.timeout = 30s, .max_step = 2, .host = host.host_options()});
  std::vector<std::set<std::int64_t>> seen(threads);
  {
    std::vector<std::jthread> drawing;
    for (int i = 0; i < threads; ++i) {
      drawing.emplace_back([&, i] {
        leaf::SegmentTag tag = allocator.tag(TagName("tag" + std::to_string(i)));
        for (int round = 0; round < rounds; ++round) seen[static_cast<std::size_t>(i)].insert(tag.next());
      });
    }
  }
  for (const auto& ids : seen) CHECK(ids.size() == rounds);
}

TEST_CASE("host tag: what was buffered below a floor is given up at once, and nothing else") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  CHECK(host.drop(leaf::max_id) == 0);  // there is no folder yet
  CHECK_FALSE(fs::exists(host.run));
  SegmentAllocator allocator = host.allocator();
  leaf::SegmentTag tag = allocator.tag(host.order);
  CHECK(tag.next() == 1);
  CHECK(host.drop(2) == 0);
  CHECK(tag.next() == 2);
  host.admin.update_tag(host.order, {.raise_to = 5000});
  CHECK(host.drop(5000) == 8);
  CHECK(tag.next() == 5000);
  tag.fetch();
  host.admin.update_tag(host.order, {.raise_to = 9000});
  CHECK(host.drop(9000) > 10);  // the next segment too
  CHECK(tag.next() == 9000);
  CHECK(host.drop(9002) > 0);  // 9001 alone lies below
}

TEST_CASE("host tag: of a segment that follows a used-up one no more is given up than lies below a floor") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  SegmentAllocator allocator = host.allocator();
  leaf::SegmentTag tag = allocator.tag(host.order);
  CHECK(tag.next() == 1);
  CHECK(host.admin.grant(host.order, 100).range.hi == 111);  // somebody else draws
  tag.fetch();
  CHECK(tag.next_ranges(9) == std::vector<Range>{{2, 11}});
  CHECK(host.drop(50) == 0);
  CHECK(host.drop(111) == 0);
  host.admin.update_tag(host.order, {.raise_to = 5000});
  CHECK(host.drop(5000) == 10);
  CHECK(tag.next() == 5000);
}

TEST_CASE("host tag: a fetch that nobody needs any more takes nothing from what is buffered") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  SegmentAllocator allocator = host.allocator();
  leaf::SegmentTag tag = allocator.tag(host.order);
  CHECK(tag.next() == 1);
  tag.fetch();
  const std::int64_t granted = host.admin.tag(host.order).next_id;
  for (int i = 0; i < 5; ++i) tag.fetch();
  CHECK(host.admin.tag(host.order).next_id == granted);
  CHECK(tag.next() == 2);
}

TEST_CASE("host tag: a buffer is not dropped under a fetch: the lock is waited for, with an end") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  CHECK(host.allocator().tag(host.order).next() == 1);
  const pid_t holder = fork();
  if (holder == 0) {
    const int file = open(leaf::test::state_file_in(host.run).c_str(), O_RDWR | O_CLOEXEC);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    if (fcntl(file, F_OFD_SETLK, &whole) != 0) _exit(1);
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(holder, &status, WUNTRACED) == holder);
  REQUIRE(WIFSTOPPED(status));
  const auto forget = [&] {
    return leaf::forget_store(host.store.options().url, host.host_options(), 1s, host.clock);
  };
  CHECK(error_code([&] { host.drop(leaf::max_id); }) == ErrorCode::unavailable);
  CHECK(error_code(forget) == ErrorCode::unavailable);
  kill(holder, SIGKILL);
  waitpid(holder, &status, 0);
  SUBCASE("and its IDs are dropped then") {
    CHECK(host.drop(leaf::max_id) == 9);
  }
  SUBCASE("and is forgotten then") {
    CHECK(forget() == 1);
    CHECK(leaf::host_buffers(host.host_options(), host.clock).empty());
  }
}

TEST_CASE("host tag: a tag that is removed and added again goes on higher, from a file of its own") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  SegmentAllocator old = host.allocator();
  leaf::SegmentTag at_old = old.tag(host.order);
  CHECK(at_old.next() == 1);
  host.admin.remove_tag(host.order);
  host.drop(leaf::max_id);
  CHECK(error_code([&] { at_old.next(); }) == ErrorCode::not_found);
  add_tag(host.admin, "order", 10);
  SegmentAllocator anew = host.allocator();
  CHECK(anew.tag(host.order).next() == 11);
  CHECK(at_old.next() == 12);
}

TEST_CASE("host tag: a new step is used from the next fetch on") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  SegmentAllocator allocator = host.allocator();
  leaf::SegmentTag tag = allocator.tag(host.order);
  CHECK(tag.next() == 1);
  host.admin.update_tag(host.order, {.step = 50});
  tag.fetch();
  const auto buffers = leaf::host_buffers(host.host_options(), host.clock);
  REQUIRE(buffers.size() == 1);
  CHECK(buffers[0].tag_step == 50);
  CHECK(buffers[0].current == Range{2, 11});
  CHECK(buffers[0].next == Range{11, 61});
}

TEST_CASE("host tag: the step of a host doubles, stays and halves as its pace does, over many processes") {
  SegmentHost host;
  add_tag(host.admin, "order", 100);
  const auto size_after = [&](std::chrono::minutes pause) {
    host.clock.advance(pause);
    SegmentAllocator allocator = host.allocator();
    leaf::SegmentTag tag = allocator.tag(host.order);
    const auto before = leaf::host_buffers(host.host_options(), host.clock);
    if (!before.empty() && before[0].in_use) {
      const auto left = before[0].current.size() + before[0].next.size();
      if (left > 0) tag.next_ranges(left);
    }
    const std::int64_t next = host.admin.tag(host.order).next_id;
    tag.next();
    return host.admin.tag(host.order).next_id - next;
  };
  CHECK(size_after(0min) == 100);
  CHECK(size_after(14min) == 100);  // nothing is known of the pace yet
  CHECK(size_after(14min) == 200);
  CHECK(size_after(14min) == 400);
  CHECK(size_after(20min) == 400);
  CHECK(size_after(31min) == 200);
  CHECK(size_after(31min) == 100);
  CHECK(size_after(31min) == 100);
}

namespace {

/// A copy of a store as it was, to be put back.
struct Backup {
  explicit Backup(SegmentHost& host) : host_(host) {
    leaf::test::SqliteSession(host.store.path()).run("VACUUM INTO '" + path() + "'");
  }
  std::string path() const { return host_.store.path() + ".backup"; }
  void remove_journal() const {
    fs::remove(host_.store.path() + "-wal");
    fs::remove(host_.store.path() + "-shm");
  }
  /// Over the file that is there.
  void write_over() const {
    remove_journal();
    leaf::test::write_bytes(host_.store.path(), leaf::test::read_bytes(path()));
    fs::resize_file(host_.store.path(), fs::file_size(path()));
  }
  /// In the place of the file that is there.
  void take_its_place() const {
    remove_journal();
    fs::rename(path(), host_.store.path());
  }

 private:
  SegmentHost& host_;
};

}  // namespace

TEST_CASE(
    "host tag: a store put back to a copy of before is refused, its IDs are not, and raising mends it") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  host.allocator().tag(host.order).next_ranges(25);
  const Backup backup(host);
  std::int64_t last = 0;
  for (const Range range : host.allocator().tag(host.order).next_ranges(95)) last = range.hi - 1;
  host.admin = leaf::Store(host.store.options());
  SUBCASE("over it") {
    backup.write_over();
  }
  SUBCASE("in its place") {
    backup.take_its_place();
  }
  host.admin = host.store.open();
  REQUIRE(host.admin.tag(host.order).next_id <= last);
  std::optional<ErrorCode> ended;
  for (int i = 0; i < 1000 && !ended; ++i) {
    ended = error_code([&] {
      const std::int64_t id = host.allocator().tag(host.order).next();
      CHECK(id > last);
      last = id;
    });
  }
  CHECK(ended == ErrorCode::refused);
  // Asking again and again does not move the counter past what other hosts have to be spared.
  const std::int64_t counter = host.admin.tag(host.order).next_id;
  for (int i = 0; i < 20; ++i)
    CHECK(error_code([&] { host.allocator().tag(host.order).next(); }) == ErrorCode::refused);
  CHECK(host.admin.tag(host.order).next_id == counter);
  CHECK(proposes(error_of([&] { host.allocator().tag(host.order).next(); }),
                 {.kind = leaf::Remedy::Kind::raise_tag, .name = "order", .number = last + 1}));
  CHECK(error_code([&] { host.allocator().tag(host.order).next_ranges(1'000'000); }) == ErrorCode::refused);
  host.admin.update_tag(host.order, {.raise_to = 1'000'000'000});
  CHECK(host.allocator().tag(host.order).next() >= 1'000'000'000);
}

TEST_CASE("host tag: a tag that a store put back to a copy of before lacks is not said to be new") {
  SegmentHost host;
  add_tag(host.admin, "removed", 10);
  host.allocator().tag(TagName("removed")).next();
  const Backup backup(host);
  add_tag(host.admin, "order", 10);
  CHECK(host.allocator().tag(host.order).next() == 1);
  const std::int64_t granted_end = host.admin.tag(host.order).next_id;
  host.admin = leaf::Store(host.store.options());
  backup.take_its_place();
  auto options = host.store.options();
  options.marks = leaf::host_marks(host.host_options());
  leaf::Store store(options);
  const leaf::Remedy mends{.kind = leaf::Remedy::Kind::add_tag, .name = "order", .number = granted_end};
  for (const leaf::Error& error :
       {error_of([&] { store.grant(host.order, 1); }), error_of([&] { store.grant_segment(host.order); }),
        error_of([&] { store.tag(host.order); })}) {
    CHECK(error.code() == ErrorCode::not_found);
    CHECK(proposes(error, mends));
  }
  const leaf::Error refused = error_of([&] { add_tag(store, "order", 10); });
  CHECK(refused.code() == ErrorCode::refused);
  CHECK(proposes(refused, mends));
  for (const bool or_later : {false, true}) {
    leaf::NewTag below{.name = host.order, .step = 10, .start = granted_end - 1, .or_later = or_later};
    const leaf::Error too_low = error_of([&] { store.add_tag(below); });
    CHECK(too_low.code() == ErrorCode::refused);
    CHECK(proposes(too_low, mends));
    CHECK(error_of([&] { store.require_above_granted(below); }).hint() == too_low.hint());
  }
  const leaf::NewTag right{.name = host.order, .step = 10, .start = granted_end};
  CHECK_NOTHROW(store.require_above_granted(right));
  store.add_tag(right);
  CHECK_NOTHROW(store.require_above_granted({.name = host.order, .start = 1}));  // it is there
  CHECK(store.grant(host.order, 1).range.lo == granted_end);

  store.remove_tag(TagName("removed"));
  const leaf::Error removed = error_of([&] { store.tag(TagName("removed")); });
  CHECK(removed.hint() == "create it");
  CHECK(proposes(removed, {.kind = leaf::Remedy::Kind::add_tag, .name = "removed"}));
  add_tag(store, "removed", 10);
}

TEST_CASE("host tag: a tag that was removed in the backup, and drawn from since, is not added below that") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  host.allocator().tag(host.order).next();
  host.admin.remove_tag(host.order);
  const Backup backup(host);
  add_tag(host.admin, "order", 10);
  host.allocator().tag(host.order).next_ranges(50);
  const std::int64_t granted_end = host.admin.tag(host.order).next_id;
  host.admin = leaf::Store(host.store.options());
  backup.take_its_place();
  auto options = host.store.options();
  options.marks = leaf::host_marks(host.host_options());
  leaf::Store store(options);
  const leaf::Remedy mends{.kind = leaf::Remedy::Kind::add_tag, .name = "order", .number = granted_end};
  for (const std::optional<std::int64_t> start :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(granted_end - 1)}) {
    const leaf::Error refused = error_of([&] { store.add_tag({.name = host.order, .start = start}); });
    CHECK(refused.code() == ErrorCode::refused);
    CHECK(proposes(refused, mends));
  }
  store.add_tag({.name = host.order, .start = granted_end});
  CHECK(store.grant(host.order, 1).range.lo == granted_end);
}

TEST_CASE("host tag: a store made anew in the place of another begins where its own tags begin") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  leaf::SegmentAllocator allocator = host.allocator();
  leaf::SegmentTag order = allocator.tag(host.order);
  order.next_ranges(25);
  CHECK(order.store() == host.admin.identity());
  fs::remove(host.store.path());
  fs::remove(host.store.path() + "-wal");
  fs::remove(host.store.path() + "-shm");
  host.admin = host.store.open();
  host.admin.migrate();
  host.admin.add_tag({.name = host.order, .step = 10, .start = 7});
  CHECK(host.allocator().tag(host.order).next() == 7);
  CHECK(host.allocator().tag(host.order).next() == 8);
  order.next_ranges(1000);
  CHECK(order.store() == host.admin.identity());
}

TEST_CASE("host tag: a copy that is a deployment of its own has nothing in common with the original") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  std::vector<std::int64_t> ids{host.allocator().tag(host.order).next()};
  leaf::test::SqliteStore copy;
  const Backup backup(host);
  const auto in_copy = [&] {
    auto options = copy.options();
    options.clock = &host.clock;
    return SegmentAllocator(options, {.timeout = 1s, .host = host.host_options()});
  };
  fs::copy_file(host.store.path(), copy.path(), fs::copy_options::overwrite_existing);
  leaf::Store admin = copy.open();
  const leaf::StoreIdentity former = admin.identity();
  REQUIRE(former.deployment == host.admin.identity().deployment);

  SegmentAllocator running = in_copy();
  leaf::SegmentTag tag = running.tag(host.order);
  std::vector<std::int64_t> copied{tag.next()};
  CHECK(error_code([&] { admin.begin_new_deployment("another"); }) == ErrorCode::refused);
  const leaf::StoreIdentity now = admin.begin_new_deployment(former.deployment);
  CHECK(now.deployment != former.deployment);
  CHECK(admin.identity() == now);
  CHECK(error_code([&] { admin.begin_new_deployment(former.deployment); }) == ErrorCode::refused);
  const std::int64_t granted = admin.tag(host.order).next_id;
  SUBCASE("where this host gives up what it has buffered of the copy") {
    CHECK(leaf::forget_store(former, host.host_options(), 1s, host.clock) == 1);
    copied.push_back(tag.next());
    CHECK(copied.back() >= granted);
  }
  SUBCASE("where a process goes on with its buffer until the next fetch, and others do not") {
    copied.push_back(in_copy().tag(host.order).next());
    CHECK(copied.back() >= granted);
    copied.push_back(tag.next());
    CHECK(copied.back() == copied.front() + 1);
  }
  for (int i = 0; i < 40; ++i) copied.push_back(tag.next());
  CHECK(std::set<std::int64_t>(copied.begin(), copied.end()).size() == copied.size());
  CHECK(copied.back() >= granted);
  for (const leaf::HostBuffer& buffer : leaf::host_buffers(host.host_options(), host.clock)) {
    if (buffer.store == "sqlite:" + fs::canonical(copy.path()).string() && buffer.current.hi > granted)
      CHECK(buffer.deployment == now.deployment);
  }
  CHECK(admin.grant(host.order, 5000).store == now);
  // What the copy was granted since is not held against the original, only what it was granted as that.
  host.admin.update_tag(host.order, {.raise_to = granted});
  for (int i = 0; i < 40; ++i) ids.push_back(host.allocator().tag(host.order).next());
  CHECK(ids.back() < granted + 40);
  const auto events = admin.events();
  CHECK(events.back().event == "deployment");
  CHECK(events.back().detail == former.deployment + " to " + now.deployment);
}

TEST_CASE(
    "host tag: a child that is forked during a fetch is told so, and does not wait for what nobody ends") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  host.allocator().tag(host.order).next();
  std::optional<leaf::test::NumberOfParent> alike;
  SUBCASE("with a PID of its own") {}
  SUBCASE("with its parent's") {
    alike.emplace();
  }
  std::optional<leaf::SegmentTag> tag;
  bool has_forked = false;
  int status = -1;
  auto store = host.store_options();
  // While the store is asked, in the middle of a call that holds all that another one would wait for.
  store.while_asked = [&]() -> std::shared_ptr<void> {
    if (!tag || std::exchange(has_forked, true)) return nullptr;
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(error_code([&] { tag->fetch(); }) == ErrorCode::failed ? 0 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    return nullptr;
  };
  SegmentAllocator allocator(store, {.timeout = 1s, .host = host.host_options()});
  tag = allocator.tag(host.order);
  tag->fetch();
  CHECK(has_forked);
  CHECK(status == 0);
  CHECK(tag->next() == 2);
}

TEST_CASE(
    "host tag: many IDs of one call are as many as it asked for, also where the file is taken meanwhile") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  bool is_taken = true;
  auto store = host.store_options();
  store.while_asked = [&] {
    return std::shared_ptr<void>(nullptr, [&](void*) {
      if (!std::exchange(is_taken, true)) fs::remove(leaf::test::state_file_in(host.run));
    });
  };
  SegmentAllocator allocator(store, {.timeout = 1s, .host = host.host_options()});
  leaf::SegmentTag tag = allocator.tag(host.order);
  const std::int64_t first = tag.next();
  is_taken = false;
  std::int64_t end = first, count = 0;
  for (const leaf::Range range : tag.next_ranges(5000)) {
    CHECK(range.lo > end);
    end = range.hi;
    count += range.hi - range.lo;
  }
  CHECK(is_taken);
  CHECK(count == 5000);
}

TEST_CASE("host tag: many IDs come all at once where others draw what is buffered during the grant") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  SegmentAllocator others = host.allocator();
  leaf::SegmentTag other = others.tag(host.order);
  CHECK(other.next() == 1);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool has_asked = false, is_drawn = false;
    auto store = host.store_options();
    store.while_asked = [&] {
      return std::shared_ptr<void>(nullptr, [&](void*) {
        if (has_asked && !std::exchange(is_drawn, true) && other.next_range(9) != Range{2, 11}) _exit(2);
      });
    };
    SegmentAllocator allocator(store, {.timeout = 1s, .host = host.host_options()});
    leaf::SegmentTag tag = allocator.tag(host.order);
    has_asked = true;
    _exit(tag.next_ranges(5000) == std::vector<Range>{{11, 5011}} && is_drawn ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("host tag: what a program without standard streams prints reaches no buffer") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  REQUIRE(host.allocator().tag(host.order).next() == 1);
  const pid_t child = fork();
  if (child == 0) {
    for (int stream = 0; stream <= 2; ++stream) close(stream);
    try {
      SegmentAllocator allocator = host.allocator();
      leaf::SegmentTag tag = allocator.tag(host.order);
      if (tag.next() != 2) _exit(1);
      struct stat what {};
      for (int stream = 0; stream <= 2; ++stream) {
        if (fstat(stream, &what) == 0) _exit(10 + stream);
      }
      _exit(0);
    } catch (...) {
      _exit(2);
    }
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("host tag: what is buffered is listed as it is") {
  SegmentHost host;
  CHECK(leaf::host_buffers(host.host_options(), host.clock).empty());
  add_tag(host.admin, "order", 100);
  add_tag(host.admin, "invoice", 5);
  SegmentAllocator allocator = host.allocator();
  allocator.tag(TagName("invoice")).next();
  leaf::SegmentTag tag = allocator.tag(host.order);
  tag.next_ranges(40);
  // No time has passed yet that a pace could be of.
  CHECK_FALSE(leaf::host_buffers(host.host_options(), host.clock).at(1).ids_per_second);
  host.clock.advance(10s);
  const auto buffers = leaf::host_buffers(host.host_options(), host.clock);
  REQUIRE(buffers.size() == 2);
  CHECK(buffers[0].name == "invoice");
  CHECK(buffers[0].current == Range{2, 6});
  CHECK(buffers[1].name == "order");
  CHECK(buffers[1].in_use);
  CHECK(buffers[1].current == Range{41, 101});
  CHECK(buffers[1].next.empty());
  CHECK(buffers[1].step == 100);
  CHECK(buffers[1].failures == 0);
  CHECK(buffers[1].store == "sqlite:" + fs::canonical(host.store.path()).string());
  REQUIRE(buffers[1].ids_per_second);
  CHECK(*buffers[1].ids_per_second == doctest::Approx(4.0).epsilon(0.01));
}

TEST_CASE("host tag: fetches that begin to fail are told of once for all processes, and their success too") {
  SegmentHost host;
  add_tag(host.admin, "order", 10);
  std::vector<std::string> told;
  leaf::HostOptions options = host.host_options();
  options.on_fetch_change = [&](const leaf::FetchChange& change) {
    CHECK(change.what == "segment of tag 'order'");
    CHECK(change.store == host.store_options().url);
    told.push_back(change.failure.empty() ? "good" : "bad");
    CHECK(change.remedies.empty() == change.failure.empty());
  };
  const auto in_a_process = [&](const std::function<void(leaf::SegmentTag&)>& work) {
    SegmentAllocator allocator(host.store_options(), {.timeout = 50ms, .host = options});
    leaf::SegmentTag tag = allocator.tag(host.order);
    work(tag);
  };
  in_a_process([](leaf::SegmentTag& tag) { tag.next(); });
  CHECK(told.empty());
  leaf::test::SqliteSession other(host.store.path());
  for (int outage = 0; outage < 2; ++outage) {
    CAPTURE(outage);
    told.clear();
    REQUIRE(other.run("BEGIN EXCLUSIVE"));
    for (int i = 0; i < 3; ++i)
      in_a_process([](leaf::SegmentTag& tag) { CHECK_THROWS_AS(tag.fetch(), leaf::Error); });
    CHECK(told == std::vector<std::string>{"bad"});
    const leaf::HostBuffer failing = leaf::host_buffers(host.host_options()).at(0);
    REQUIRE(failing.failure_remedies.size() == 2);
    CHECK(failing.failure_remedies[0].kind == leaf::Remedy::Kind::allow_more_time);
    CHECK(failing.failure_hint.substr(0, failing.failure_remedies[0].at).ends_with("allow more time"));
    CHECK(failing.failure_remedies[1].kind == leaf::Remedy::Kind::check_store);
    REQUIRE(other.run("ROLLBACK"));
    for (int i = 0; i < 2; ++i) in_a_process([](leaf::SegmentTag& tag) { tag.fetch(); });
    CHECK(told == std::vector<std::string>{"bad", "good"});
    in_a_process([](leaf::SegmentTag& tag) { tag.next_ranges(12); });
  }
}
