#include "host/shared_buffer.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>

#include "host/state_patch.hpp"
#include "leaf/error.hpp"
#include "support/error_of.hpp"
#include "support/manual_clock.hpp"
#include "support/sqlite_store.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using leaf::Error;
using leaf::ErrorCode;
using leaf::Range;
using leaf::host::GrantedRange;
using leaf::host::SharedBuffer;
using leaf::host::State;
using leaf::test::error_code;
using leaf::test::error_text;
using leaf::test::ManualClock;
using leaf::test::state_file_in;
using leaf::test::TemporaryFolder;

namespace {

/// A file that stands for a store, a folder of host state, and time.
struct Bed {
  Bed() { std::ofstream(store) << "one"; }
  leaf::StoreOptions store_options() { return {.url = "sqlite:" + store.string(), .clock = &clock}; }
  leaf::HostOptions host() const { return {.folder = run, .fetch_ahead = false}; }

  TemporaryFolder home;
  fs::path store = home.path() / "store";
  fs::path run = home.path() / "run";
  ManualClock clock;
};

/// A buffer whose grants the test makes up.
class Buffer : public SharedBuffer {
 public:
  explicit Buffer(Bed& bed, const std::string& name = "order", std::chrono::milliseconds timeout = 1s)
      : SharedBuffer(bed.store_options(), bed.host(), leaf::HostBuffer::Kind::tag, name, name, timeout) {}

  /// One ID, as a process draws it.
  std::int64_t draw() {
    Range taken = buffer().take(1).range;
    if (taken.empty()) {
      await([&] {
        taken = buffer().take(1).range;
        return !taken.empty();
      });
    }
    return taken.lo;
  }

  using SharedBuffer::alone;
  using SharedBuffer::fetch;

  std::deque<Range> grants;
  std::string deployment = "d1";
  std::string origin = "o1";
  std::function<void()> before_grant = [] {};
  std::function<void(State&)> on_note = [](State&) {};
  int asked = 0;
  const leaf::Store* asked_of = nullptr;

 protected:
  GrantedRange grant(leaf::Store& store, State&) override {
    ++asked;
    asked_of = &store;
    before_grant();
    if (grants.empty()) throw Error(ErrorCode::unavailable, "the store is away", "wait");
    const Range range = grants.front();
    grants.pop_front();
    return {.refill = {.range = range, .mark = 1}, .deployment = deployment, .origin = origin};
  }
  void note_granted(State& state) override { on_note(state); }
  void require_fitting(const State&) const override {}
};

/// Holds the lock of the only file of host state, as a process does that fetches.
class HeldLock {
 public:
  explicit HeldLock(const fs::path& folder)
      : descriptor_(open(state_file_in(folder).c_str(), O_RDWR | O_CLOEXEC)) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    REQUIRE(fcntl(descriptor_, F_OFD_SETLK, &whole) == 0);
  }
  ~HeldLock() { close(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

TEST_CASE("shared buffer: what one has fetched the other draws, in order") {
  Bed bed;
  Buffer one(bed), other(bed);
  one.grants = {{1, 4}};
  CHECK(one.draw() == 1);
  CHECK(other.draw() == 2);
  CHECK(one.draw() == 3);
  CHECK(other.asked == 0);
  other.grants = {{10, 20}};
  CHECK(other.draw() == 10);
  CHECK(one.draw() == 11);
}

TEST_CASE("shared buffer: without a timeout a store that is away is tried once, whatever failed before") {
  Bed bed;
  Buffer buffer(bed, "order", 0ms);
  const auto begun = bed.clock.steady_now();
  for (int call = 1; call <= 3; ++call) {
    CHECK(error_text([&] { buffer.draw(); }) == "the store is away | wait");
    CHECK(buffer.asked == call);
  }
  buffer.grants = {{1, 4}};
  CHECK(buffer.draw() == 1);
  CHECK(bed.clock.steady_now() == begun);
}

TEST_CASE("shared buffer: without a timeout the attempt of another process is waited for, but not longer") {
  Bed bed;
  Buffer buffer(bed, "order", 0ms);
  const HeldLock lock(bed.run);
  const auto begun = bed.clock.steady_now();
  CHECK(error_text([&] { buffer.draw(); }).starts_with("no segment of tag 'order' came within 1s | "));
  CHECK(bed.clock.steady_now() - begun == 1s);
  CHECK(buffer.asked == 0);
}

TEST_CASE("shared buffer: all is written down before the first ID can be taken") {
  Bed bed;
  Buffer buffer(bed);
  buffer.grants = {{1, 2}, {5, 6}};
  int notes = 0;
  std::int64_t end = 0;
  buffer.on_note = [&](State& state) {
    ++notes;
    CHECK(state.buffer.published_end() == end);
    CHECK(state.deployment.get() == "d1");
    CHECK(state.origin.get() == "o1");
    CHECK(state.store_stamp.load() != 0);
    CHECK(state.fetch.fetched_at_ms.load() > 0);
  };
  CHECK(buffer.draw() == 1);
  end = 2;
  CHECK(buffer.draw() == 5);
  CHECK(notes == 2);
}

TEST_CASE(
    "shared buffer: a process killed before it publishes leaves the buffer as it was, and the lock free") {
  Bed bed;
  Buffer buffer(bed);
  buffer.grants = {{1, 2}};
  CHECK(buffer.draw() == 1);
  const pid_t child = fork();
  if (child == 0) {
    Buffer own(bed);
    own.grants = {{2, 100}};
    own.on_note = [](State&) { raise(SIGKILL); };
    own.draw();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  buffer.grants = {{100, 200}};
  CHECK(buffer.draw() == 100);
}

TEST_CASE(
    "shared buffer: a child that is forked has a connection of its own, and its parent keeps the old one") {
  Bed bed;
  Buffer buffer(bed);
  buffer.grants = {{1, 2}, {2, 3}};
  CHECK(buffer.draw() == 1);
  const leaf::Store* const parents = buffer.asked_of;
  const pid_t child = fork();
  if (child == 0) {
    buffer.draw();
    _exit(buffer.asked_of == parents ? 1 : 0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  buffer.grants = {{3, 4}};
  CHECK(buffer.draw() == 3);
  CHECK(buffer.asked_of == parents);
}

TEST_CASE("shared buffer: nothing is fetched while another holds the lock; that is waited for with an end") {
  Bed bed;
  Buffer buffer(bed);
  buffer.grants = {{1, 3}, {3, 4}};
  CHECK(buffer.draw() == 1);
  {
    const HeldLock held(bed.run);
    CHECK(buffer.draw() == 2);  // what is buffered needs no lock
    const auto begin = bed.clock.steady_now();
    CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::unavailable);
    CHECK(bed.clock.steady_now() - begin >= 1s);
    CHECK(bed.clock.steady_now() - begin < 2s);
    CHECK(error_text([&] { buffer.draw(); }).find("let it go on or kill it") != std::string::npos);
    CHECK(error_code([&] { buffer.alone([](leaf::Store&, State&) {}); }) == ErrorCode::unavailable);
    buffer.fetch();
    CHECK(buffer.asked == 1);
  }
  CHECK(buffer.draw() == 3);
}

TEST_CASE("shared buffer: a grant below what was granted before is refused, and can be mended") {
  Bed bed;
  Buffer buffer(bed);
  buffer.grants = {{1000, 1001}, {1, 1001}, {1000, 2000}, {1001, 2000}};
  CHECK(buffer.draw() == 1000);
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::refused);
  const std::string text = error_text([&] { buffer.draw(); });
  CHECK(text.find("up to 1000") != std::string::npos);
  CHECK(text.find("leafctl tags update order --raise-to") != std::string::npos);
  CHECK(buffer.draw() == 1001);
}

TEST_CASE("shared buffer: a grant below what was granted beside the buffer is refused too") {
  Bed bed;
  Buffer buffer(bed);
  buffer.grants = {{1, 2}, {2, 3}, {5000, 6000}};
  CHECK(buffer.draw() == 1);
  buffer.alone([](leaf::Store&, State& state) { state.fetch.highest.store(5000); });
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::refused);
  CHECK(buffer.draw() == 5000);
}

TEST_CASE(
    "shared buffer: whoever opens it for a store file that took another's place draws nothing of the old") {
  Bed bed;
  {
    Buffer buffer(bed);
    buffer.grants = {{1, 100}, {100, 200}};
    CHECK(buffer.draw() == 1);
    buffer.fetch();
  }
  std::ofstream(bed.home.path() / "copy") << "two";
  fs::rename(bed.home.path() / "copy", bed.store);
  Buffer buffer(bed);
  buffer.grants = {{200, 300}};
  CHECK(buffer.draw() == 200);
  Buffer another(bed);  // drops nothing a second time
  CHECK(another.draw() == 201);
}

TEST_CASE("shared buffer: while the lock is held nobody draws what another store file granted") {
  Bed bed;
  {
    Buffer buffer(bed);
    buffer.grants = {{1, 100}};
    CHECK(buffer.draw() == 1);
  }
  std::ofstream(bed.home.path() / "copy") << "two";
  fs::rename(bed.home.path() / "copy", bed.store);
  const HeldLock held(bed.run);
  CHECK(error_code([&] { Buffer buffer(bed); }) == ErrorCode::unavailable);
}

TEST_CASE(
    "shared buffer: another deployment or origin gets another file, and those at the old one end it first") {
  Bed bed;
  Buffer old(bed);
  old.grants = {{1000, 1003}};
  CHECK(old.draw() == 1000);
  const std::string before = leaf::test::read_bytes(state_file_in(bed.run));
  Buffer anew(bed);
  anew.deployment = "d2";
  SUBCASE("deployment") {}
  SUBCASE("origin") {
    anew.deployment = "d1";
    anew.origin = "o2";
  }
  anew.grants = {{1, 10}};
  anew.fetch();
  CHECK(anew.asked == 1);
  CHECK(leaf::test::read_bytes(state_file_in(bed.run)) != before);
  CHECK(old.draw() == 1001);
  Buffer third(bed);
  CHECK(third.draw() == 1);
  CHECK(old.draw() == 1002);
  CHECK(old.draw() == 2);
  CHECK(old.asked == 1);
}

TEST_CASE("shared buffer: a file that was removed only makes a gap, for those at it and those that come") {
  Bed bed;
  Buffer old(bed);
  old.grants = {{1, 3}};
  CHECK(old.draw() == 1);
  fs::remove(state_file_in(bed.run));
  Buffer anew(bed);
  anew.grants = {{10, 13}};
  CHECK(anew.draw() == 10);
  CHECK(old.draw() == 2);
  CHECK(old.draw() == 11);
  CHECK(anew.draw() == 12);
}

TEST_CASE("shared buffer: a claim is one process's for a second, and is over with the fetch") {
  Bed bed;
  Buffer one(bed), other(bed);
  one.grants = {{1, 10}, {10, 20}};
  CHECK(one.draw() == 1);
  CHECK(one.claim_fetch());
  CHECK_FALSE(one.claim_fetch());
  CHECK_FALSE(other.claim_fetch());
  bed.clock.advance(999ms);
  CHECK_FALSE(other.claim_fetch());
  bed.clock.advance(1ms);
  CHECK(other.claim_fetch());
  one.fetch();
  CHECK_FALSE(one.claim_fetch());  // there is a next range
  for (int i = 2; i <= 10; ++i) CHECK(other.draw() == i);
  CHECK(one.claim_fetch());
}

TEST_CASE("shared buffer: a clock that is set back or forward keeps nobody from fetching") {
  Bed bed;
  Buffer buffer(bed);
  buffer.grants = {{1, 10}};
  CHECK(buffer.draw() == 1);
  CHECK(buffer.claim_fetch());
  bed.clock.set_back(1h);
  CHECK(buffer.claim_fetch());
  CHECK(error_code([&] { buffer.fetch(); }) == ErrorCode::unavailable);
  CHECK_FALSE(buffer.claim_fetch());
  bed.clock.set_back(1h);
  CHECK(buffer.claim_fetch());
}

TEST_CASE(
    "shared buffer: while the store is away all keep to pauses that grow, and then go on by themselves") {
  Bed bed;
  Buffer one(bed, "order", 10s), other(bed, "order", 10s);
  one.grants = {{1, 3}};
  CHECK(one.draw() == 1);
  CHECK(error_code([&] { one.fetch(); }) == ErrorCode::unavailable);
  CHECK_FALSE(one.claim_fetch());
  CHECK_FALSE(other.claim_fetch());
  CHECK(other.draw() == 2);  // from the buffer
  const auto begin = bed.clock.steady_now();
  CHECK(error_code([&] { other.draw(); }) == ErrorCode::unavailable);
  CHECK(bed.clock.steady_now() - begin >= 10s);
  CHECK(other.asked >= 5);
  CHECK(other.asked <= 14);  // 0.1, 0.2, 0.4, 0.8, 1.6, 2, 2... s, each less up to a quarter
  CHECK(error_text([&] { other.draw(); }).find("the store is away") != std::string::npos);
  other.grants = {{3, 10}};
  CHECK(other.draw() == 3);
  CHECK(one.draw() == 4);
  CHECK(one.state().fetch.failures.load() == 0);
}

TEST_CASE(
    "shared buffer: what waiting does not cure is told at once, and looked at anew by the next caller") {
  Bed bed;
  Buffer buffer(bed);
  buffer.before_grant = [] { throw Error(ErrorCode::exhausted, "no more"); };
  const auto begin = bed.clock.steady_now();
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::exhausted);
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::exhausted);
  CHECK(bed.clock.steady_now() == begin);
  CHECK(buffer.asked == 2);
}

TEST_CASE("shared buffer: a tag that does not exist leaves no file") {
  Bed bed;
  Buffer buffer(bed);
  buffer.before_grant = [] { throw Error(ErrorCode::not_found, "no such tag"); };
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::not_found);
  CHECK(leaf::test::state_files_in(bed.run).empty());
}

TEST_CASE("shared buffer: a store that was named by mistake leaves no file, unless one held something") {
  Bed bed;
  Buffer buffer(bed);
  buffer.before_grant = [] { throw Error(ErrorCode::usage, "no such database"); };
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::usage);
  CHECK(leaf::test::state_files_in(bed.run).empty());
  buffer.before_grant = [] {};
  buffer.grants = {{1, 3}};
  CHECK(buffer.draw() == 1);
  CHECK(buffer.draw() == 2);
  buffer.before_grant = [] { throw Error(ErrorCode::usage, "no such database"); };
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::usage);
  CHECK(leaf::test::state_files_in(bed.run).size() == 1);
}

TEST_CASE("shared buffer: names, kinds, stores and keys of stores have files of their own") {
  Bed bed;
  Buffer order(bed), invoice(bed, "invoice");
  order.grants = {{1, 10}};
  invoice.grants = {{1, 10}};
  CHECK(order.draw() == 1);
  CHECK(invoice.draw() == 1);
  const auto key = [](const std::string& url, const std::string& variables) {
    return leaf::host::identify_store(url, variables).key;
  };
  CHECK(key("sqlite:/a", "") != key("sqlite:/b", ""));
  CHECK(key("postgresql://h/a", "") != key("postgresql://h/b", ""));
  CHECK(key("postgresql://h", "PGDATABASE=a\n") != key("postgresql://h", "PGDATABASE=b\n"));
  CHECK(key("postgresql://u:one@h/a", "") == key("postgresql://u:two@h/a", ""));
  fs::create_symlink(bed.store, bed.home.path() / "link");
  CHECK(key("sqlite:" + bed.store.string(), "") ==
        key("sqlite:" + (bed.home.path() / "." / "link").string(), ""));
}
