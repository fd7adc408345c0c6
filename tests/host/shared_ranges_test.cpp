#include "host/shared_ranges.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <latch>
#include <optional>
#include <thread>
#include <utility>

#include "host/fetch_lock.hpp"
#include "host/granted_record.hpp"
#include "host/process_name.hpp"
#include "host/state_patch.hpp"
#include "leaf/error.hpp"
#include "store/connection.hpp"
#include "store/file_identity.hpp"
#include "store/grant_marks.hpp"
#include "support/elsewhere.hpp"
#include "support/error_of.hpp"
#include "support/manual_clock.hpp"
#include "support/number_of_parent.hpp"
#include "support/sqlite_store.hpp"
#include "support/wait_for.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using leaf::Error;
using leaf::ErrorCode;
using leaf::Range;
using leaf::host::FileKind;
using leaf::host::SharedRanges;
using leaf::host::SharedState;
using leaf::host::StateFile;
using leaf::test::elsewhere;
using leaf::test::error_code;
using leaf::test::error_text;
using leaf::test::ManualClock;
using leaf::test::mount_over;
using leaf::test::state_file_in;
using leaf::test::TemporaryFolder;

namespace {

/// A clock that stands there.
std::function<leaf::UnixTime()> standing_at(leaf::UnixTime time) {
  return [time] { return time; };
}

/// Does something whenever somebody sleeps, or looks what time of day it is.
struct BusyClock final : ManualClock {
  std::chrono::system_clock::time_point now() override {
    on_look();
    return ManualClock::now();
  }
  std::function<void()> on_look = [] {};
  void sleep_for(std::chrono::nanoseconds duration) override {
    ManualClock::sleep_for(duration);
    on_sleep();
  }
  std::function<void()> on_sleep = [] {};
};

/// The name of a store that nobody connects to, a folder of host state, and time.
struct SharedRangesFixture {
  leaf::StoreOptions store_options() { return {.url = url, .clock = &clock}; }
  leaf::HostOptions host_options() const {
    return {.folder = run, .store_files = store_files, .fetch_ahead = false};
  }
  /// That of the store's name.
  bool claim_check() {
    const leaf::host::StoreName name(url, host_options());
    return name.claim_check(leaf::host::Folder::open(host_options()),
                            std::chrono::floor<std::chrono::milliseconds>(clock.now()));
  }

  TemporaryFolder home;
  fs::path run = home.path() / "run";
  std::string url = "postgresql://h/ids";
  std::vector<std::string> store_files{};
  BusyClock clock;
};

/// The store's name leads through a service, whose file is a link.
struct ServiceFixture : SharedRangesFixture {
  ServiceFixture() {
    for (const char* name : {"staging", "production"})
      std::ofstream(home.path() / name) << "[ids]\ndbname=" << name << "\n";
    turn_to("staging");
    url = "service=ids";
    store_files = {services};
  }
  void turn_to(const char* name) const {
    fs::remove(services);
    fs::create_symlink(name, services);
  }

  const fs::path services = home.path() / "services";
};

/// What a granter that the test makes up grants, and how.
struct Plan {
  std::deque<Range> grants;
  std::string deployment = "d1";
  std::string incarnation = "o1";
  leaf::range::SegmentRecord kept{};
  std::function<void()> before_grant = [] {};
  std::function<void()> before_identify = [] {};
  std::function<void(leaf::Store&)> ask_more = [](leaf::Store&) {};  ///< with before_identify
  std::string order_mark{};
  bool takes_over = true;
  /// Until then takers are served by what is buffered.
  leaf::UnixTime serves_until = leaf::UnixTime::min();
  leaf::UnixTime confirmed = leaf::UnixTime::max();  ///< Granted::asked
  bool is_newest = true;
  std::function<void()> before_newest = [] {};  ///< told whether it is
  int asked = 0;
  leaf::Store* asked_of = nullptr;
  std::int64_t told_order_end = 0;  ///< where the last range was to begin at least
};

class PlannedGranter final : public leaf::range::Granter {
 public:
  PlannedGranter(std::string name, Plan& plan) : name_(std::move(name)), plan_(plan) {}

  std::string name() const override { return name_; }
  std::string what() const override { return "segment of tag '" + name_ + "'"; }
  leaf::range::Granted grant(leaf::Store& store, const leaf::range::Filled& filled) const override {
    ++plan_.asked;
    plan_.asked_of = &store;
    plan_.told_order_end = filled.order_end;
    plan_.before_grant();
    if (plan_.grants.empty()) throw Error(ErrorCode::unavailable, "the store is away", "wait");
    const Range range = plan_.grants.front();
    plan_.grants.pop_front();
    return {.range = range,
            .mark = 1,
            .store = {plan_.deployment, ""},
            .origin = plan_.incarnation,
            .record = plan_.kept,
            .asked = plan_.confirmed};
  }
  leaf::StoreIdentity identify(leaf::Store& store) const override {
    plan_.before_identify();
    plan_.ask_more(store);
    return {plan_.deployment, ""};
  }
  std::string order_mark() const override { return plan_.order_mark; }
  bool may_take_over() const override { return plan_.takes_over; }
  bool still_serves(const leaf::range::DoubleBuffer&, const std::string&,
                    leaf::UnixTime time) const override {
    return time < plan_.serves_until;
  }
  bool is_newest(leaf::Store&, const leaf::range::Granted&) const override {
    plan_.before_newest();
    return plan_.is_newest;
  }

 private:
  const std::string name_;
  Plan& plan_;
};

/// Shared ranges of that plan, and of one tag.
class Buffer : public Plan, public SharedRanges {
 public:
  explicit Buffer(SharedRangesFixture& fixture, const std::string& name = "order",
                  std::chrono::milliseconds timeout = 1s, const Plan& plan = {},
                  leaf::range::Fetcher* fetcher = nullptr)
      : Plan(plan),
        SharedRanges(std::make_unique<PlannedGranter>(name, static_cast<Plan&>(*this)),
                     leaf::host::FileKind::tag, name, fixture.store_options(), fixture.host_options(),
                     timeout, fetcher) {}

  /// One ID, as a process draws it.
  std::int64_t draw() { return take(1).lo; }

  using SharedRanges::ask;
  using SharedRanges::buffer;
  using SharedRanges::leads_elsewhere;
  using SharedRanges::state;

  void alone(const std::function<bool(leaf::Store&, StateFile&)>& work) {
    leaf::range::CallDeadline deadline;
    SharedRanges::alone(deadline, work);
  }
  void wait_until(const std::function<bool()>& ready, leaf::range::CallDeadline deadline = {}) {
    await(ready, deadline);
  }

  std::function<void(SharedState&)> on_note = [](SharedState&) {};

 protected:
  void keep_record(SharedState& state, const leaf::range::GrantRecord& record) override {
    SharedRanges::keep_record(state, record);
    on_note(state);
  }
};

ino_t inode_of(const fs::path& file) {
  struct stat found {};
  REQUIRE(stat(file.c_str(), &found) == 0);
  return found.st_ino;
}

/// As a fetcher does each second.
void check(Buffer& buffer, leaf::Store& store) {
  if (buffer.check()) buffer.check_name(store);
}

/// Holds the lock of a file of host state, or of the only one in a folder, as a process does that fetches.
class HeldLock {
 public:
  explicit HeldLock(const fs::path& place)
      : descriptor_(
            open((fs::is_directory(place) ? state_file_in(place) : place).c_str(), O_RDWR | O_CLOEXEC)) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    REQUIRE(fcntl(descriptor_, F_OFD_SETLK, &whole) == 0);
  }
  ~HeldLock() { close(descriptor_); }

 private:
  int descriptor_;
};

bool is_locked(const fs::path& file) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  const bool is_refused = fcntl(descriptor, F_OFD_SETLK, &whole) != 0;
  close(descriptor);
  return is_refused;
}

/// The file of host state that lies beside `file`, and beside no other.
fs::path file_beside(const fs::path& file) {
  auto files = leaf::test::state_files_in(file.parent_path());
  std::erase(files, file);
  REQUIRE(files.size() == 1);
  return files.front();
}

/// `one` has used up what it had of a store, while `other` has drawn the first of `ranges` of another store.
/// That is where the name of `one` leads, too, from its next fetch on.
struct LateFromAnotherStore : SharedRangesFixture {
  explicit LateFromAnotherStore(std::deque<Range> ranges) {
    one.grants = {{1000, 1001}};
    CHECK(one.draw() == 1000);
    const fs::path former = state_file_in(run);
    other.deployment = one.deployment = "d2";
    const std::int64_t first = ranges.front().lo;
    other.grants = std::move(ranges);
    other.fetch();
    CHECK(other.draw() == first);
    file = file_beside(former);
    one.grants = {{10, 20}};
  }

  Buffer one{*this}, other{*this};
  fs::path file;  ///< of the other store
};

/// A child of this process that takes a file from its holder: it has closed the buffer, but stops before the
/// file has lost its name.
class StoppedTaker {
 public:
  void begin(const fs::path& file) {
    REQUIRE(pipe(told_) == 0);
    REQUIRE(pipe(asked_) == 0);
    child_ = fork();
    if (child_ == 0) {
      alarm(20);
      const leaf::host::Folder folder = leaf::host::Folder::open({.folder = file.parent_path()});
      bool has_stopped = false;
      const auto stop = [&](std::int64_t) {
        char signal = 0;
        if (std::exchange(has_stopped, true)) return;
        if (write(told_[1], &signal, 1) != 1 || read(asked_[0], &signal, 1) != 1) _exit(2);
      };
      _exit(StateFile::find_any(folder, file.filename())->take_from_holder(folder, stop) ? 0 : 1);
    }
    char signal = 0;
    REQUIRE(read(told_[0], &signal, 1) == 1);
  }
  /// True if the file is the child's now.
  bool goes_on() {
    REQUIRE(write(asked_[1], "", 1) == 1);
    int status = -1;
    REQUIRE(waitpid(child_, &status, 0) == child_);
    for (const int end : {told_[0], told_[1], asked_[0], asked_[1]}) close(end);
    return status == 0;
  }

 private:
  pid_t child_ = -1;
  int told_[2]{}, asked_[2]{};
};

}  // namespace

TEST_CASE("shared ranges: what one has fetched the other draws, in order") {
  SharedRangesFixture fixture;
  Buffer one(fixture), other(fixture);
  one.grants = {{1, 4}};
  CHECK(one.draw() == 1);
  CHECK(other.draw() == 2);
  CHECK(one.draw() == 3);
  CHECK(other.asked == 0);
  other.grants = {{10, 20}};
  CHECK(other.draw() == 10);
  CHECK(one.draw() == 11);
}

TEST_CASE(
    "shared ranges: of a file that somebody died over as he took it nothing comes once others have another") {
  SharedRangesFixture fixture;
  Buffer one(fixture), other(fixture);
  one.grants = {{1, 100}};
  CHECK(one.draw() == 1);
  const fs::path file = state_file_in(fixture.run), taken = file.string() + ".taken";
  fs::rename(file, taken);
  other.grants = {{200, 300}};
  CHECK(other.draw() == 200);
  CHECK(one.draw() == 201);
  CHECK_FALSE(fs::exists(taken));
}

TEST_CASE("shared ranges: without a timeout a store that is away is tried once, whatever failed before") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture, "order", 0ms);
  const auto begun = fixture.clock.steady_now();
  for (int call = 1; call <= 3; ++call) {
    CHECK(error_text([&] { buffer.draw(); }) == "the store is away | wait");
    CHECK(buffer.asked == call);
  }
  buffer.grants = {{1, 4}};
  CHECK(buffer.draw() == 1);
  CHECK(fixture.clock.steady_now() == begun);
}

TEST_CASE("shared ranges: without a timeout the attempt of another process is waited for, but not longer") {
  SharedRangesFixture fixture;
  Buffer first(fixture), buffer(fixture, "order", 0ms);
  first.grants = {{1, 2}};
  CHECK(first.draw() == 1);
  buffer.takes_over = false;
  const HeldLock lock(fixture.run);
  const auto begun = fixture.clock.steady_now();
  CHECK(error_text([&] {
          buffer.draw();
        }).starts_with("could not fetch a segment of tag 'order' within 1s | "));
  CHECK(fixture.clock.steady_now() - begun == 1s);
  CHECK(buffer.asked == 0);
}

TEST_CASE("shared ranges: all is written down before the first ID can be taken") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 2}, {5, 6}};
  int notes = 0;
  std::int64_t end = 0;
  buffer.on_note = [&](SharedState& state) {
    ++notes;
    CHECK(state.buffer.published_end() == end);
    CHECK(state.origin.get() == "o1");
    CHECK(state.origin_checksum.load() == leaf::host::checksum_of_origin("o1"));
    CHECK(state.fetch.fetched_at_ms.load() > 0);
  };
  CHECK(buffer.draw() == 1);
  end = 2;
  CHECK(buffer.draw() == 5);
  CHECK(notes == 2);
}

TEST_CASE("shared ranges: what is kept of a grant is there for other processes, too") {
  SharedRangesFixture fixture;
  Buffer one(fixture), other(fixture);
  one.kept = {.steps = {.step = 20, .tag_step = 10, .fetches = 2, .last_fetch = {}, .starved = true},
              .start = 5,
              .limit = 1000,
              .granted_end = 25};
  one.grants = {{5, 25}};
  CHECK(one.draw() == 5);
  CHECK(other.draw() == 6);
  const auto kept = leaf::range::record_as<leaf::range::SegmentRecord>(other.record());
  CHECK(kept.steps.step == 20);
  CHECK(kept.steps.tag_step == 10);
  CHECK(kept.steps.fetches == 2);
  CHECK(kept.steps.starved);
  CHECK(kept.start == 5);
  CHECK(kept.limit == 1000);
  CHECK(kept.granted_end == 25);
}

TEST_CASE(
    "shared ranges: a process killed before it publishes leaves the buffer as it was, and the lock free") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 2}};
  CHECK(buffer.draw() == 1);
  const pid_t child = fork();
  if (child == 0) {
    Buffer own(fixture);
    own.grants = {{2, 100}};
    own.on_note = [](SharedState&) { raise(SIGKILL); };
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
    "shared ranges: a child that is forked has a connection of its own, and its parent keeps the old one") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 2}, {2, 3}, {3, 4}};
  CHECK(buffer.draw() == 1);
  const leaf::Store* const parents = buffer.asked_of;
  std::optional<leaf::test::NumberOfParent> alike;
  SUBCASE("with a PID of its own") {}
  SUBCASE("with its parent's") {
    alike.emplace();
  }
  const pid_t child = fork();
  if (child == 0) {
    buffer.draw();
    const leaf::Store* const own = buffer.asked_of;
    buffer.draw();
    _exit(own != parents && buffer.asked_of == own ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  buffer.grants = {{4, 5}};
  CHECK(buffer.draw() == 4);
  CHECK(buffer.asked_of == parents);
}

TEST_CASE("shared ranges: nothing is fetched while another holds the lock; that is waited for with an end") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 3}, {3, 4}};
  buffer.takes_over = false;
  CHECK(buffer.draw() == 1);
  {
    const HeldLock held(fixture.run);
    CHECK(buffer.draw() == 2);  // what is buffered needs no lock
    const auto begin = fixture.clock.steady_now();
    CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::unavailable);
    CHECK(fixture.clock.steady_now() - begin >= 1s);
    CHECK(fixture.clock.steady_now() - begin < 2s);
    CHECK(error_text([&] { buffer.draw(); }).find("let it go on") != std::string::npos);
    CHECK(error_code([&] { buffer.alone([](leaf::Store&, StateFile&) { return true; }); }) ==
          ErrorCode::unavailable);
    buffer.fetch();
    CHECK(buffer.asked == 1);
  }
  CHECK(buffer.draw() == 3);
}

TEST_CASE("shared ranges: a file that does not count is thrown away once nobody holds its lock any more") {
  SharedRangesFixture fixture;
  Buffer first(fixture), other(fixture, "order", 5s);
  first.grants = {{1, 4}};
  CHECK(first.draw() == 1);
  std::optional<HeldLock> held;
  const auto let_it_be_of_another_boot = [&] {
    held.emplace(fixture.run);
    leaf::test::patch_header(state_file_in(fixture.run), [](leaf::host::FileHeader& h) { h.boot[0] ^= 1; });
  };
  let_it_be_of_another_boot();
  other.grants = {{10, 14}};
  fixture.clock.on_sleep = [&] { held.reset(); };
  CHECK(other.draw() == 10);

  let_it_be_of_another_boot();
  Buffer third(fixture, "order", 5s);
  CHECK_NOTHROW(third.claim_fetch());  // whoever waits for a range is told, nobody before
  third.alone([](leaf::Store&, StateFile& file) { return file.state().buffer.published_end() == 0; });

  let_it_be_of_another_boot();
  fixture.clock.on_sleep = [] {};
  Buffer fourth(fixture, "order", 5s);
  const auto begun = fixture.clock.steady_now();
  CHECK(error_text([&] { fourth.draw(); }).find("is stale, and its lock is held") != std::string::npos);
  CHECK(fixture.clock.steady_now() - begun >= 5s);
}

TEST_CASE("shared ranges: a file that ceases to count under whoever has just locked it is waited for, too") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture, "order", 5s);
  buffer.grants = {{1, 2}, {10, 14}};
  CHECK(buffer.draw() == 1);
  bool has_ceased = false;
  fixture.clock.on_look = [&] {
    const fs::path file = state_file_in(fixture.run);
    if (has_ceased || !is_locked(file)) return;
    has_ceased = true;
    std::string bytes = leaf::test::read_bytes(file);
    bytes[offsetof(leaf::host::FileHeader, boot)] ^= 1;
    leaf::test::write_bytes(file, bytes);
  };
  CHECK(buffer.draw() == 10);
  CHECK(has_ceased);
}

TEST_CASE("shared ranges: who fetches is named by number only where that number is known to mean it") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 2}};
  buffer.takes_over = false;
  CHECK(buffer.draw() == 1);
  const std::string number = "process " + std::to_string(getpid()) + " of this host";
  {
    const HeldLock held(fixture.run);
    CHECK(error_text([&] { buffer.draw(); }).find(number) != std::string::npos);
  }
  // As from another PID namespace, from a release that keeps the number alone, and between two writes.
  const auto own = static_cast<std::uint64_t>(getpid());
  for (const std::uint64_t seal :
       {std::uint64_t{1}, std::uint64_t{0}, leaf::host::process_seal(getppid()), own}) {
    buffer.alone([&](leaf::Store&, StateFile& file) {
      file.state().fetcher_seal = seal;
      return true;
    });
    const HeldLock held(fixture.run);
    const std::string text = error_text([&] { buffer.draw(); });
    CHECK(text.find(number) == std::string::npos);
    CHECK(text.find("not seen from here") != std::string::npos);
  }
}

TEST_CASE("shared ranges: a name that leads elsewhere takes its users to that store's buffer, and back") {
  SharedRangesFixture fixture;
  Buffer one(fixture);
  one.grants = {{1000, 1003}, {1003, 1010}};
  CHECK(one.draw() == 1000);
  one.deployment = "d2";
  one.grants = {{1, 10}};
  SUBCASE("found at the next fetch") {
    one.fetch();
  }
  SUBCASE("found by the check of each minute") {
    fixture.clock.advance(61s);
    leaf::Store store(fixture.store_options());
    check(one, store);
  }
  CHECK(one.draw() == 1);
  Buffer other(fixture);
  CHECK(other.draw() == 2);
  CHECK(leaf::test::state_files_in(fixture.run).size() == 2);
  one.deployment = "d1";
  one.grants = {{1010, 1020}};
  one.fetch();
  CHECK(one.draw() == 1001);  // what is left there is as good as it was
}

TEST_CASE("shared ranges: a name that visibly leads elsewhere is left also while the store does not answer") {
  ServiceFixture fixture;
  Buffer one(fixture);
  one.grants = {{1000, 1010}};
  CHECK(one.draw() == 1000);
  fixture.clock.advance(61s);  // nobody has asked the store for long
  fixture.turn_to("production");
  one.before_identify = [] { throw Error(ErrorCode::unavailable, "the store is away", "wait"); };
  leaf::Store store(fixture.store_options());
  CHECK_THROWS_AS(check(one, store), Error);
  CHECK(error_text([&] { one.draw(); }).find("the store is away") != std::string::npos);
  SUBCASE("to another one") {
    one.before_identify = [] {};
    one.deployment = "d2";
    one.grants = {{1, 10}};
    CHECK(one.draw() == 1);
  }
  SUBCASE("to the same one, after all") {
    one.before_identify = [] {};
    CHECK(one.draw() == 1001);
  }
  SUBCASE("until it leads back, though no store answers") {
    fixture.turn_to("staging");
    CHECK(one.draw() == 1001);
  }
}

TEST_CASE("shared ranges: a store is drawn from also where its name cannot be noted for others") {
  SharedRangesFixture fixture;
  const fs::path file = fixture.home.path() / "ids.db";
  std::ofstream(file) << "no copy of what answers";
  fixture.url = "sqlite:" + file.string();
  Buffer one(fixture);
  one.grants = {{1, 10}};
  CHECK(one.draw() == 1);
}

TEST_CASE("shared ranges: a name that goes through no service is not left for a file of services") {
  SharedRangesFixture fixture;
  const fs::path services = fixture.home.path() / "services";
  fixture.store_files = {services};
  Buffer one(fixture);
  one.grants = {{1000, 1010}};
  CHECK(one.draw() == 1000);
  std::ofstream(services) << "[ids]\ndbname=production\n";
  one.before_identify = [] { throw Error(ErrorCode::unavailable, "the store is away", "wait"); };
  leaf::Store store(fixture.store_options());
  CHECK_THROWS_AS(check(one, store), Error);
  CHECK(one.draw() == 1001);
}

TEST_CASE("shared ranges: who waits for another thread's question waits no longer than it may") {
  for (const auto timeout : {1s, 0s}) {
    for (const bool is_known_by_then : {false, true}) {
      CAPTURE(timeout.count());
      CAPTURE(is_known_by_then);
      SharedRangesFixture fixture;
      Buffer one(fixture, "order", timeout), other(fixture);
      std::latch asked(1), answered(1);
      one.before_identify = [&] {
        asked.count_down();
        answered.wait();
      };
      one.grants = {{2, 10}};
      std::thread first([&] { error_code([&] { one.draw(); }); });
      asked.wait();
      other.grants = {{1, 2}};
      if (is_known_by_then) CHECK(other.draw() == 1);
      auto second = std::async(std::launch::async, [&] { return error_text([&] { one.draw(); }); });
      const bool has_ended = leaf::test::wait_for([&] {
        fixture.clock.advance(1s);
        return second.wait_for(1ms) == std::future_status::ready;
      });
      answered.count_down();
      first.join();
      CHECK(has_ended);
      CHECK(second.get().find("other threads of this program are still waiting") != std::string::npos);
    }
  }
}

TEST_CASE("shared ranges: threads that wait for another one's question have no need of their own") {
  SharedRangesFixture fixture;
  Buffer one(fixture, "order", 0s);
  std::latch asked(1), answered(1);
  std::atomic<int> questions{0};
  one.before_identify = [&] {
    if (++questions > 1) return;
    asked.count_down();
    answered.wait();
  };
  one.grants = {{1, 10}};
  // By this clock either may be late for what the other fetches.
  auto first = std::async(std::launch::async, [&] { return error_text([&] { one.draw(); }); });
  asked.wait();
  auto second = std::async(std::launch::async, [&] { return error_text([&] { one.draw(); }); });
  answered.count_down();
  for (const std::string& text : {first.get(), second.get()})
    CHECK(text.find("still waiting for the store") == std::string::npos);
  CHECK(questions == 1);
}

TEST_CASE("shared ranges: what made a call's attempts fail is told though its end cuts the last one short") {
  struct Case {
    bool has_time;  ///< the last attempt
    Error last;
    std::string told;
  };
  using leaf::store::sqlstate::timed_out, leaf::store::sqlstate::unable_to_connect;
  const std::string within = "could not fetch a segment of tag 'order' within 5s: ";
  const Error silent(ErrorCode::unavailable, "no answer", "wait", timed_out);
  const Case cases[] = {
      {false, silent, within + "connection refused | start it"},
      {false,
       {ErrorCode::unavailable, "no login", "wait", unable_to_connect},
       within + "connection refused | start it"},
      // But not if the last one had time enough, or found something else.
      {true, silent, within + "no answer | wait"},
      {false,
       {ErrorCode::unavailable, "the server is full", "wait", "53300"},
       within + "the server is full | wait"},
      {false, {ErrorCode::refused, "it is damaged", "mend it"}, "it is damaged | mend it"},
  };
  for (const Case& each : cases) {
    for (const bool is_asked_where_it_is : {true, false}) {
      CAPTURE(each.last.what());
      CAPTURE(is_asked_where_it_is);
      SharedRangesFixture fixture;
      Buffer one(fixture, "order", 5s);
      const auto deadline = fixture.clock.steady_now() + 5s;
      int attempts = 0;
      (is_asked_where_it_is ? one.before_identify : one.before_grant) = [&] {
        if (++attempts == 1) {
          // A question is asked again at once, a grant after a pause of at least 75 ms.
          fixture.clock.advance(each.has_time ? 1s : is_asked_where_it_is ? 4950ms : 4860ms);
          throw Error(ErrorCode::unavailable, "connection refused", "start it", unable_to_connect);
        }
        fixture.clock.advance(deadline - fixture.clock.steady_now());
        throw Error(each.last);
      };
      CHECK(error_text([&] { one.draw(); }) == each.told);
      CHECK(attempts == 2);
    }
  }
}

TEST_CASE("shared ranges: a failure that a grant has followed is not told of the attempt after it") {
  SharedRangesFixture fixture;
  Buffer one(fixture, "order", 5s);
  const auto deadline = fixture.clock.steady_now() + 5s;
  one.grants = {{1, 2}};
  int attempts = 0;
  one.before_grant = [&] {
    if (++attempts == 2) return;
    fixture.clock.advance(attempts == 1 ? 4800ms : deadline - fixture.clock.steady_now());
    const char* const what = attempts == 1 ? "connection refused" : "no answer";
    throw Error(ErrorCode::unavailable, what, "wait", leaf::store::sqlstate::timed_out);
  };
  CHECK(error_text([&] { one.wait_until([] { return false; }); }) ==
        "could not fetch a segment of tag 'order' within 5s: no answer | wait");
  CHECK(attempts == 3);
}

TEST_CASE("shared ranges: all that a call asks of the store ends with its timeout") {
  for (const auto timeout : {1s, 0s}) {
    CAPTURE(timeout.count());
    SharedRangesFixture fixture;
    Buffer one(fixture, "order", timeout);
    std::string sqlstate;
    one.before_grant = [&] {
      fixture.clock.advance(1s);
      sqlstate = leaf::test::error_of([&] { one.asked_of->identity(); }).sqlstate();
    };
    one.grants = {{1, 10}};
    CHECK(one.draw() == 1);
    CHECK(sqlstate == leaf::store::sqlstate::timed_out);
  }
}

TEST_CASE("shared ranges: a call whose time went on a question has not been used wrongly") {
  SharedRangesFixture fixture;
  Buffer one(fixture);
  one.before_identify = [&] { fixture.clock.advance(2s); };
  CHECK(error_text([&] { one.draw(); }) ==
        "could not fetch a segment of tag 'order' within 1s: the store is away | wait");
}

TEST_CASE("shared ranges: a name is looked at no longer than the caller may wait") {
  SharedRangesFixture fixture;
  Buffer one(fixture);
  one.grants = {{1, 10}};
  CHECK(one.draw() == 1);
  fixture.clock.advance(61s);
  Plan silent;
  std::string sqlstate;
  silent.ask_more = [&](leaf::Store& store) {
    fixture.clock.advance(50ms);
    sqlstate = leaf::test::error_of([&] { store.identity(); }).sqlstate();
  };
  Buffer another(fixture, "order", 50ms, silent);
  CHECK(sqlstate == leaf::store::sqlstate::timed_out);
  CHECK(another.draw() == 2);
}

TEST_CASE("shared ranges: what a caller has waited before counts") {
  SharedRangesFixture fixture;
  Buffer one(fixture, "order", 10s);
  const auto begun = fixture.clock.steady_now();
  CHECK(error_code([&] { one.wait_until([] { return false; }, begun + 1s); }) == ErrorCode::unavailable);
  CHECK(fixture.clock.steady_now() - begun < 2s);
}

TEST_CASE("shared ranges: a call that takes piece by piece waits no longer in all than its timeout") {
  SharedRangesFixture fixture;
  Buffer one(fixture, "order", 1s);
  for (std::int64_t id = 1; id <= 20; ++id) one.grants.push_back({id, id + 1});
  one.before_grant = [&] { fixture.clock.advance(300ms); };
  const auto begun = fixture.clock.steady_now();
  CHECK(error_code([&] { one.take_all(20); }) == ErrorCode::unavailable);
  CHECK(fixture.clock.steady_now() - begun < 1500ms);
  CHECK(one.take_all(2).size() == 1);  // the next call has a timeout of its own
}

TEST_CASE("shared ranges: a store is left also where the buffer of the next one cannot be gone to") {
  ServiceFixture fixture;
  Buffer one(fixture), other(fixture);
  one.grants = {{1000, 1010}};
  CHECK(one.draw() == 1000);
  const fs::path its_file = state_file_in(fixture.run);
  other.deployment = "d2";
  other.grants = {{1, 10}};
  other.fetch();
  const fs::path file = file_beside(its_file);
  fs::remove(file);
  fs::create_symlink("nowhere", file);
  leaf::Store store(fixture.store_options());
  CHECK_THROWS_AS(check(one, store), Error);
  CHECK(error_text([&] { one.draw(); }).find("is a symbolic link") != std::string::npos);
  SUBCASE("until it can") {
    fs::remove(file);
    one.deployment = "d2";
    one.grants = {{20, 30}};
    CHECK(one.draw() == 20);
  }
  SUBCASE("until the name leads back, which the store says") {
    fixture.clock.advance(61s);
    CHECK(one.draw() == 1001);
    // From then on the host's word will do again, as for any other store.
    fixture.clock.advance(61s);
    fixture.turn_to("production");
    one.before_identify = [] { throw Error(ErrorCode::unavailable, "the store is away", "wait"); };
    CHECK_THROWS_AS(check(one, store), Error);
    CHECK(error_code([&] { one.draw(); }) == ErrorCode::unavailable);
    fixture.turn_to("staging");
    CHECK(one.draw() == 1002);
  }
}

TEST_CASE(
    "shared ranges: what came from the store that the name led to meanwhile is no lower than its buffer") {
  SharedRangesFixture fixture;
  Buffer one(fixture);
  one.grants = {{1000, 1001}};
  CHECK(one.draw() == 1000);
  Buffer other(fixture);
  other.deployment = "d2";
  other.grants = {{1, 2}, {20, 22}, {300, 310}};
  other.fetch();
  CHECK(other.draw() == 1);
  one.deployment = "d2";
  one.grants = {{10, 20}, {200, 300}};
  SUBCASE("where others are faster") {
    one.before_grant = [&] {
      if (one.asked == 2) CHECK(other.draw() == 20);
    };
    one.fetch();
    CHECK(one.draw() == 21);
    CHECK(one.draw() == 200);
  }
  SUBCASE("where the store has moved on") {
    one.is_newest = false;
    one.fetch();
    CHECK(one.asked == 3);
    CHECK(one.draw() == 200);
  }
}

TEST_CASE(
    "shared ranges: what was granted of a tag that was made anew damages no other store's buffer of it") {
  SharedRangesFixture fixture;
  Buffer one(fixture);
  one.grants = {{1000, 1001}};
  CHECK(one.draw() == 1000);
  Buffer other(fixture);
  other.deployment = "d2";
  other.grants = {{1, 3}};
  other.fetch();
  CHECK(other.draw() == 1);
  one.deployment = "d2";
  one.incarnation = "o2";
  one.grants = {{10, 20}, {30, 40}};
  one.fetch();
  CHECK(one.origin() == "o1");
  CHECK(one.draw() == 2);
  CHECK(one.draw() == 30);
  CHECK(one.origin() == "o2");
}

TEST_CASE("shared ranges: what was granted of a tag that was made anew is lost once the store has moved on") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 10}, {20, 30}, {40, 50}};
  buffer.is_newest = false;
  CHECK(buffer.draw() == 1);
  buffer.incarnation = "o2";
  SUBCASE("and is asked for again at once") {
    buffer.fetch();
    CHECK(buffer.asked == 3);
    CHECK(buffer.draw() == 40);
  }
  SUBCASE("but not for ever") {
    // As behind a name that leads to another store each time.
    buffer.before_grant = [&] { buffer.deployment += 'x'; };
    buffer.fetch();
    CHECK(buffer.asked == 3);
  }
}

TEST_CASE("shared ranges: who draws piece by piece sees that the name led to another store in between") {
  SharedRangesFixture fixture;
  Buffer one(fixture);
  const std::uint64_t before = one.store_changes();
  one.grants = {{1000, 1003}};
  CHECK(one.draw() == 1000);
  CHECK(one.store_changes() == before);
  one.deployment = "d2";
  one.grants = {{1, 10}};
  one.fetch();
  CHECK(one.draw() == 1);
  CHECK(one.store_changes() != before);
  CHECK(one.granted_by().deployment == "d2");
  one.deployment = "d1";
  one.grants = {{2000, 2010}};
  one.fetch();
  CHECK(one.granted_by().deployment == "d1");
  CHECK(one.store_changes() != before);
}

TEST_CASE("shared ranges: whoever sees that a thread has gone to another store sees that it is counted") {
  SharedRangesFixture fixture;
  leaf::Store store(fixture.store_options());
  Buffer ranges(fixture);
  ranges.grants = {{1, 3}};
  CHECK(ranges.draw() == 1);
  std::atomic<bool> is_over{false};
  std::atomic<int> uncounted{0};
  std::latch begun(2);
  std::thread taker([&] {
    begun.arrive_and_wait();
    while (!is_over) {
      const std::uint64_t changes = ranges.store_changes();
      const auto* const before = &ranges.buffer();
      while (&ranges.buffer() == before && !is_over) continue;
      if (is_over) return;
      if (ranges.store_changes() == changes) ++uncounted;
    }
  });
  begun.arrive_and_wait();
  for (int i = 0; i < 5000; ++i) {
    ranges.deployment = i % 2 == 0 ? "d2" : "d1";
    ranges.check_name(store);
  }
  is_over = true;
  taker.join();
  CHECK(uncounted == 0);
}

TEST_CASE("shared ranges: a store that has no buffer here yet is another one, too") {
  SharedRangesFixture fixture;
  Buffer one(fixture);
  one.grants = {{1000, 1003}};
  CHECK(one.draw() == 1000);
  const std::uint64_t before = one.store_changes();
  SUBCASE("") {}
  SUBCASE("also after the one before, whose buffer was removed") {
    fs::remove(state_file_in(fixture.run));
  }
  one.deployment = "d2";
  // Beside the buffer, as calls for many are granted theirs.
  one.alone([&](leaf::Store& store, StateFile& file) {
    const auto question = one.ask(store);
    return !one.leads_elsewhere({one.deployment, ""}, file, question);
  });
  CHECK(one.store_changes() != before);
}

TEST_CASE("shared ranges: a name is checked twice a minute, by one process, while something is drawn") {
  SharedRangesFixture fixture;
  int asked = 0;
  Buffer one(fixture), other(fixture);
  for (Buffer* buffer : {&one, &other}) buffer->before_identify = [&] { ++asked; };
  leaf::Store store(fixture.store_options());
  one.grants = {{1, 100}};
  CHECK(one.draw() == 1);
  CHECK(other.draw() == 2);
  CHECK(asked == 1);
  fixture.clock.advance(29s);
  check(one, store);
  CHECK(asked == 1);
  fixture.clock.advance(2s);
  check(one, store);
  CHECK(asked == 1);  // nothing was drawn since
  CHECK(one.draw() == 3);
  check(one, store);
  check(other, store);
  CHECK(asked == 2);
  // Also before there is an answer.
  fixture.clock.advance(31s);
  CHECK(one.draw() == 4);
  CHECK(other.draw() == 5);
  CHECK(one.check());
  CHECK_FALSE(other.check());
}

TEST_CASE("shared ranges: a process that starts checks a name that nobody has checked for half a minute") {
  SharedRangesFixture fixture;
  Buffer first(fixture);
  first.grants = {{1, 100}};
  CHECK(first.draw() == 1);
  CHECK_FALSE(first.is_check_due());
  fixture.clock.advance(31s);
  CHECK(first.is_check_due());
  int asked = 0;
  Plan away;
  away.before_identify = [&] {
    ++asked;
    throw Error(ErrorCode::unavailable, "the store is away");
  };
  // What is buffered is drawn all the same.
  CHECK(Buffer(fixture, "order", 1s, away).draw() == 2);
  CHECK(Buffer(fixture, "order", 1s, away).draw() == 3);
  CHECK(asked == 1);
  CHECK_FALSE(fixture.claim_check());
}

TEST_CASE(
    "shared ranges: who was stopped with an answer in hand leads nobody back to where a name led before") {
  SharedRangesFixture fixture;
  Buffer others(fixture);
  others.grants = {{1, 100}};
  CHECK(others.draw() == 1);
  fixture.clock.advance(31s);
  Plan old;
  old.before_identify = [&] {
    fixture.clock.advance(95s);
    others.deployment = "d2";
    others.grants = {{1000, 1010}};
    leaf::Store store(fixture.store_options());
    SUBCASE("seen by a check") {
      others.check_name(store);
      others.fetch();
    }
    SUBCASE("seen by a fetch") {
      others.fetch();
    }
    CHECK(others.draw() == 1000);
    fixture.clock.advance(1s);
  };
  Buffer stopped(fixture, "order", 1s, old);
  CHECK(stopped.draw() == 1001);
  CHECK(Buffer(fixture).draw() == 1002);
}

TEST_CASE(
    "shared ranges: a check notes how far single calls have come, so that no cursor goes back behind that") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 100}};
  CHECK(buffer.draw() == 1);
  leaf::range::DoubleBuffer::Guess guess;
  std::int64_t id = 0;
  bool mark_reached = false;
  for (int i = 0; i < 5; ++i) REQUIRE(buffer.buffer().take_one(guess, id, mark_reached));
  buffer.check();
  auto& word = reinterpret_cast<std::atomic<std::uint64_t>&>(buffer.buffer());  // its first member
  word -= 4;
  CHECK_FALSE(buffer.buffer().is_intact());
}

TEST_CASE("shared ranges: what serves those who waited for more is left in its place") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 3}, {3, 5}, {5, 7}};
  CHECK(buffer.draw() == 1);
  buffer.fetch();
  const auto now = std::chrono::floor<std::chrono::milliseconds>(fixture.clock.now());
  buffer.serves_until = now + 1h;
  SUBCASE("by a clock that is right") {}
  SUBCASE("by one that was ahead as the store was asked") {
    fixture.clock.set_back(-2h);
    buffer.before_grant = [&] { fixture.clock.set_back(2h); };
  }
  SUBCASE("by one that is ahead since the store has compared it") {
    buffer.confirmed = now;
    fixture.clock.set_back(-2h);
  }
  buffer.wait_until([&] { return buffer.asked == 3; });
  CHECK(buffer.draw() == 2);
  CHECK(buffer.draw() == 3);
}

TEST_CASE("shared ranges: an answer counts from when it was asked for") {
  SharedRangesFixture fixture;
  Plan slow;
  slow.before_identify = [&] { fixture.clock.advance(40s); };
  slow.grants = {{1, 100}};
  Buffer one(fixture, "order", 100s, slow);
  one.before_grant = [&] { fixture.clock.advance(40s); };
  CHECK(one.draw() == 1);
  CHECK(one.is_check_due());
}

TEST_CASE("shared ranges: a name that was checked, or claimed, in what is the future now is checked again") {
  SharedRangesFixture fixture;
  Buffer first(fixture);
  first.grants = {{1, 100}};
  CHECK(first.draw() == 1);
  CHECK_FALSE(first.is_check_due());
  CHECK(fixture.claim_check());
  CHECK_FALSE(fixture.claim_check());
  fixture.clock.set_back(24h);
  CHECK(first.is_check_due());
  CHECK(fixture.claim_check());
}

TEST_CASE("shared ranges: users of a tag that was removed leave its buffer at once, in order") {
  SharedRangesFixture fixture;
  Buffer old(fixture), anew(fixture);
  old.grants = {{1000, 1003}};
  CHECK(old.draw() == 1000);
  const std::uint64_t store_changes = old.store_changes();
  anew.incarnation = "o2";
  anew.grants = {{1010, 1020}};
  anew.fetch();
  CHECK(anew.asked == 1);
  CHECK(old.draw() == 1010);
  CHECK(Buffer(fixture).draw() == 1011);
  CHECK(old.draw() == 1012);
  CHECK(old.asked == 1);
  CHECK(old.store_changes() == store_changes);  // so that no call loses what it has drawn
}

TEST_CASE("shared ranges: who has stopped while it fetches is waited for, then others go on without it") {
  SharedRangesFixture fixture;
  Buffer stopped(fixture, "order", 10s), other(fixture, "order", 10s);
  stopped.grants = {{1, 2}, {2, 100}};
  other.grants = {{100, 200}};
  CHECK(stopped.draw() == 1);
  CHECK(other.state().buffer.view().rest.empty());
  std::int64_t drawn = 0;
  stopped.before_grant = [&] {
    // As after a SIGSTOP, while another process goes on.
    const auto begin = fixture.clock.steady_now();
    drawn = other.draw();
    CHECK(fixture.clock.steady_now() - begin >= 4s);
    CHECK(fixture.clock.steady_now() - begin < 5s);
  };
  stopped.fetch();
  CHECK(drawn == 100);
  stopped.before_grant = [] {};
  CHECK(other.draw() == 101);
  CHECK(stopped.draw() == 102);  // what it was granted meanwhile is lower, and lost
  CHECK_FALSE(other.state().buffer.view().has_next);
  CHECK(Buffer(fixture).draw() == 103);
}

TEST_CASE(
    "shared ranges: what is buffered is kept while a process waits for the store, until it has stopped") {
  std::chrono::milliseconds timeout = 10s;
  SUBCASE("it waits for seconds") {}
  SUBCASE("it waits for minutes") {
    timeout = 120s;
  }
  SharedRangesFixture fixture;
  Buffer fetcher(fixture, "order", timeout), other(fixture, "order", 10s);
  fetcher.grants = {{1, 101}};
  other.grants = {{200, 300}, {300, 400}};
  CHECK(fetcher.draw() == 1);
  const auto inode = inode_of(state_file_in(fixture.run));
  fetcher.before_grant = [&] {
    CHECK(error_code([&] { other.take_all(150); }) == ErrorCode::unavailable);
    CHECK(inode_of(state_file_in(fixture.run)) == inode);
    CHECK(other.draw() == 2);
  };
  CHECK_THROWS(fetcher.fetch());
  CHECK(inode_of(state_file_in(fixture.run)) == inode);
  CHECK(other.draw() == 3);
  // Now it does not come back in time, which is a minute at most: what it was to fetch is worth more than
  // what is left.
  fetcher.before_grant = [&] {
    fixture.clock.advance(std::min<std::chrono::milliseconds>(timeout, 60s) - 10s);
    CHECK(error_code([&] { other.take_all(150); }) == ErrorCode::unavailable);
    CHECK(other.take_all(150) == std::vector<Range>{{200, 350}});
  };
  CHECK_THROWS(fetcher.fetch());
  CHECK(other.draw() == 350);
}

TEST_CASE(
    "shared ranges: who fetches behind its callers' backs is waited for as long as the store may take") {
  SharedRangesFixture fixture;
  Buffer fetcher(fixture), other(fixture);
  fetcher.grants = {{1, 101}};
  other.grants = {{200, 300}};
  CHECK(fetcher.draw() == 1);
  fetcher.before_grant = [&] {
    fixture.clock.advance(2s);  // of the store's 5 s; calls end after one
    CHECK(error_code([&] { other.take_all(150); }) == ErrorCode::unavailable);
    CHECK(other.draw() == 2);
  };
  leaf::Store store(fixture.store_options());
  CHECK_THROWS(fetcher.fetch(store, /*is_awaited=*/false));
  CHECK(other.asked == 0);
}

TEST_CASE("shared ranges: who waits leaves the file to others while they take turns with its lock") {
  for (const bool is_stopped : {false, true}) {
    CAPTURE(is_stopped);
    SharedRangesFixture fixture;
    Buffer one(fixture);
    one.grants = {{1, 2}};
    CHECK(one.draw() == 1);
    const auto inode = inode_of(state_file_in(fixture.run));
    std::optional<HeldLock> held(std::in_place, fixture.run);
    // Whoever fetches lets go of it, and another one is quicker to take it.
    Buffer another(fixture);
    if (!is_stopped) {
      fixture.clock.on_sleep = [&] {
        held.reset();
        another.alone([](leaf::Store&, StateFile&) { return true; });
        held.emplace(fixture.run);
      };
    }
    Buffer other(fixture);
    CHECK(error_code([&] { other.draw(); }) == ErrorCode::unavailable);
    CHECK((inode_of(state_file_in(fixture.run)) == inode) == !is_stopped);
  }
}

TEST_CASE("shared ranges: a wait for one file's lock does not count for the file that takes its place") {
  SharedRangesFixture fixture;
  Buffer one(fixture), another(fixture), waiter(fixture, "order", 10s);
  one.grants = {{1, 2}};
  another.grants = {{5, 6}};
  CHECK(one.draw() == 1);
  std::optional<HeldLock> held(std::in_place, fixture.run);
  const auto begin = fixture.clock.steady_now();
  std::optional<ino_t> inode;
  std::optional<std::chrono::nanoseconds> taken_after;
  fixture.clock.on_sleep = [&] {
    const auto waited = fixture.clock.steady_now() - begin;
    if (inode) {
      if (!taken_after && inode_of(state_file_in(fixture.run)) != *inode) taken_after = waited;
    } else if (waited >= 3s) {
      held.reset();
      fs::remove(state_file_in(fixture.run));
      CHECK(another.draw() == 5);
      inode = inode_of(state_file_in(fixture.run));
      held.emplace(fixture.run);
    }
  };
  CHECK(error_code([&] { waiter.draw(); }) == ErrorCode::unavailable);
  REQUIRE(taken_after);
  CHECK(*taken_after >= 7s);
}

TEST_CASE(
    "shared ranges: what came from another store is given up where its buffer is full, not what is there") {
  SharedRangesFixture fixture;
  Buffer one(fixture), other(fixture);
  one.grants = {{1000, 1001}};
  CHECK(one.draw() == 1000);
  other.deployment = one.deployment = "d2";
  other.grants = {{1, 3}, {5, 9}};
  other.fetch();
  CHECK(other.draw() == 1);
  other.fetch();
  SUBCASE("nor is it asked for again, should it be late") {
    one.is_newest = false;
  }
  SUBCASE("although it is the newest") {}
  one.grants = {{10, 20}, {30, 40}};
  one.fetch();
  CHECK(other.draw() == 2);
  CHECK(other.draw() == 5);
}

TEST_CASE(
    "shared ranges: who has stopped leaves the others' file alone, also if the tag was made anew meanwhile") {
  SharedRangesFixture fixture;
  Buffer stopped(fixture, "order", 10s), other(fixture, "order", 10s);
  stopped.grants = {{1, 2}, {2, 100}};
  other.grants = {{100, 200}};
  CHECK(stopped.draw() == 1);
  stopped.before_grant = [&] {
    other.incarnation = stopped.incarnation = "o2";
    CHECK(other.draw() == 100);
  };
  stopped.fetch();
  CHECK(other.draw() == 101);
  CHECK(stopped.draw() == 102);
  CHECK(Buffer(fixture).draw() == 103);
}

namespace {

/// How many descriptors this process has, and mappings of files in `folder`.
std::pair<std::ptrdiff_t, int> held_of(const fs::path& folder) {
  int mappings = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    mappings += line.find(folder.string()) != std::string::npos;
  const auto descriptors = std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  return {descriptors, mappings};
}

}  // namespace

TEST_CASE(
    "shared ranges: a store that stays silent costs a process nothing, however often the file changes") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 2}};
  CHECK(buffer.draw() == 1);
  const auto take_over = [&] {
    const HeldLock stopped(fixture.run);
    CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::unavailable);
  };
  take_over();
  const auto held = held_of(fixture.run);
  for (int time = 0; time < 20; ++time) take_over();
  CHECK(held_of(fixture.run) == held);
  buffer.grants = {{2, 4}};
  CHECK(buffer.draw() == 2);
}

TEST_CASE("shared ranges: files that were drawn from keep no descriptor") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  const auto draw_anew = [&] {
    const HeldLock stopped(fixture.run);
    buffer.grants = {{1, 2}};
    CHECK(buffer.draw() == 1);
  };
  buffer.grants = {{1, 2}};
  CHECK(buffer.draw() == 1);
  draw_anew();
  const auto held = held_of(fixture.run);
  for (int time = 0; time < 20; ++time) draw_anew();
  CHECK(held_of(fixture.run).first == held.first);
}

TEST_CASE("shared ranges: a file that was removed only makes a gap, for those at it and those that come") {
  SharedRangesFixture fixture;
  Buffer old(fixture);
  old.grants = {{1, 3}};
  CHECK(old.draw() == 1);
  fs::remove(state_file_in(fixture.run));
  Buffer anew(fixture);
  anew.grants = {{10, 13}};
  CHECK(anew.draw() == 10);
  CHECK(old.draw() == 2);
  CHECK(old.draw() == 11);
  CHECK(anew.draw() == 12);
}

TEST_CASE(
    "shared ranges: who has drawn from a file that was removed leaves it at the next check, for the new "
    "one") {
  SharedRangesFixture fixture;
  Buffer old(fixture), anew(fixture);
  leaf::Store store(fixture.store_options());
  old.grants = {{1, 100}};
  CHECK(old.draw() == 1);
  check(old, store);
  fs::remove(state_file_in(fixture.run));
  anew.grants = {{100, 200}};
  CHECK(anew.draw() == 100);
  SUBCASE("while it draws") {
    CHECK(old.draw() == 2);
  }
  SUBCASE("while it draws nothing") {}
  const leaf::range::DoubleBuffer& before = old.buffer();  // as of a thread that is stopped in a call
  const Range rest = before.view().rest;
  check(old, store);
  CHECK(old.draw() == 101);
  CHECK(anew.draw() == 102);
  CHECK(before.view().rest == rest);
}

TEST_CASE("shared ranges: what is granted for a file that is removed meanwhile is lost") {
  SharedRangesFixture fixture;
  Buffer one(fixture), other(fixture), third(fixture);
  one.grants = {{1, 3}, {3, 100}};
  CHECK(one.draw() == 1);
  CHECK(third.draw() == 2);
  one.before_grant = [&] {
    fs::remove(state_file_in(fixture.run));
    other.grants = {{100, 200}};
    CHECK(other.draw() == 100);
  };
  one.fetch();
  CHECK(third.state().buffer.take(1).range.empty());  // of the removed file
  CHECK(third.draw() == 101);
}

TEST_CASE("shared ranges: nothing is asked for where the file has gone before") {
  SharedRangesFixture fixture;
  Buffer one(fixture);
  one.grants = {{1, 2}, {2, 10}};
  CHECK(one.draw() == 1);
  int looks = 0;
  const auto is_ready = [&] {
    if (++looks == 2) fs::remove(state_file_in(fixture.run));  // whoever looks again has the lock to fetch
    return looks > 2;
  };
  one.wait_until(is_ready);
  CHECK(one.asked == 1);
}

TEST_CASE("shared ranges: what is granted for a file that somebody is taking is lost") {
  SharedRangesFixture fixture;
  Buffer one(fixture, "order", 10s);
  one.grants = {{1, 3}, {3, 100}};
  CHECK(one.draw() == 1);
  StoppedTaker taker;
  one.before_grant = [&] { taker.begin(state_file_in(fixture.run)); };
  one.fetch();
  CHECK(one.asked == 2);
  CHECK(one.state().buffer.take(1).range.empty());
  CHECK(taker.goes_on());
  CHECK(one.state().buffer.take(1).range.empty());
}

TEST_CASE("shared ranges: a folder that is removed under a process is made anew, also by another one") {
  SharedRangesFixture fixture;
  Buffer one(fixture), other(fixture);
  one.grants = {{1, 3}, {3, 10}};
  CHECK(one.draw() == 1);
  CHECK(other.draw() == 2);
  fs::remove_all(fixture.run);
  SUBCASE("by itself") {
    CHECK(one.draw() == 3);
    CHECK(other.draw() == 4);
  }
  SUBCASE("by another process") {
    Buffer third(fixture);
    third.grants = {{10, 20}};
    CHECK(third.draw() == 10);
    CHECK(one.draw() == 11);
    CHECK(one.asked == 1);
  }
  CHECK(leaf::test::state_files_in(fixture.run).size() == 1);
}

TEST_CASE("shared ranges: a claim is one process's for a second, and is over with the fetch") {
  SharedRangesFixture fixture;
  Buffer one(fixture), other(fixture);
  one.grants = {{1, 10}, {10, 20}};
  CHECK(one.draw() == 1);
  CHECK(other.is_fetch_due());
  CHECK(other.is_fetch_due());  // that is no claim
  CHECK(one.claim_fetch());
  CHECK_FALSE(one.claim_fetch());
  CHECK_FALSE(other.claim_fetch());
  CHECK_FALSE(other.is_fetch_due());
  fixture.clock.advance(999ms);
  CHECK_FALSE(other.claim_fetch());
  fixture.clock.advance(1ms);
  CHECK(other.is_fetch_due());
  CHECK(other.claim_fetch());
  one.fetch();
  CHECK_FALSE(one.claim_fetch());  // there is a next range
  CHECK_FALSE(one.is_fetch_due());
  for (int i = 2; i <= 10; ++i) CHECK(other.draw() == i);
  CHECK(one.claim_fetch());
}

TEST_CASE("shared ranges: a clock that is set back or forward keeps nobody from fetching") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 10}};
  CHECK(buffer.draw() == 1);
  CHECK(buffer.claim_fetch());
  fixture.clock.set_back(1h);
  CHECK(buffer.claim_fetch());
  CHECK(error_code([&] { buffer.fetch(); }) == ErrorCode::unavailable);
  CHECK_FALSE(buffer.claim_fetch());
  fixture.clock.set_back(1h);
  CHECK(buffer.claim_fetch());
}

TEST_CASE(
    "shared ranges: while the store is away all keep to pauses that grow, and then go on by themselves") {
  SharedRangesFixture fixture;
  Buffer one(fixture, "order", 10s), other(fixture, "order", 10s);
  one.grants = {{1, 3}};
  CHECK(one.draw() == 1);
  CHECK(error_code([&] { one.fetch(); }) == ErrorCode::unavailable);
  CHECK_FALSE(one.claim_fetch());
  CHECK_FALSE(other.claim_fetch());
  CHECK_FALSE(other.is_fetch_due());
  CHECK(other.draw() == 2);  // from the buffer
  const auto begin = fixture.clock.steady_now();
  CHECK(error_code([&] { other.draw(); }) == ErrorCode::unavailable);
  CHECK(fixture.clock.steady_now() - begin >= 10s);
  CHECK(other.asked >= 5);
  CHECK(other.asked <= 14);  // 0.1, 0.2, 0.4, 0.8, 1.6, 2, 2... s, each less up to a quarter
  CHECK(error_text([&] { other.draw(); }).find("the store is away") != std::string::npos);
  other.grants = {{3, 10}};
  CHECK(other.draw() == 3);
  CHECK(one.draw() == 4);
  CHECK(one.state().fetch.failures.load() == 0);
}

TEST_CASE("shared ranges: who draws past the mark asks for nothing in the background while all pause") {
  SharedRangesFixture fixture;
  Buffer one(fixture), pay(fixture, "pay");
  one.grants = {{1, 3}};
  CHECK(one.draw() == 1);
  pay.grants = {{1, 3}, {3, 10}};
  CHECK(pay.draw() == 1);
  std::latch is_asked(1);
  pay.before_grant = [&] { is_asked.count_down(); };
  CHECK(error_code([&] { one.fetch(); }) == ErrorCode::unavailable);
  std::optional<Buffer> other;
  leaf::range::Fetcher fetcher(fixture.store_options(), {.timeout = 1s, .max_threads = 1, .on_failure = {}});
  other.emplace(fixture, "order", 1s, Plan{}, &fetcher);
  CHECK(other->draw() == 2);
  fixture.clock.advance(1ms);
  fetcher.request(pay);
  is_asked.wait();  // its one thread is through with whatever was due before
  CHECK(other->asked == 0);
}

TEST_CASE("shared ranges: who has waited while all pause is told what the attempts of others have met") {
  SharedRangesFixture fixture;
  Buffer one(fixture), other(fixture);
  one.grants = {{1, 2}};
  CHECK(one.draw() == 1);
  // Until the pause is longer than the other may wait.
  for (int attempt = 0; attempt < 6; ++attempt)
    CHECK(error_code([&] { one.fetch(); }) == ErrorCode::unavailable);
  CHECK(error_text([&] { other.draw(); }) ==
        "could not fetch a segment of tag 'order' within 1s: the store is away | wait");
  CHECK(other.asked == 0);
}

TEST_CASE(
    "shared ranges: what waiting does not cure is told at once, and looked at anew by the next caller") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.before_grant = [] { throw Error(ErrorCode::exhausted, "no more"); };
  const auto begin = fixture.clock.steady_now();
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::exhausted);
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::exhausted);
  CHECK(fixture.clock.steady_now() == begin);
  CHECK(buffer.asked == 2);
}

TEST_CASE("shared ranges: that a call was refused beside the buffer is noted for all") {
  SharedRangesFixture fixture;
  Buffer one(fixture);
  one.grants = {{1, 10}};
  CHECK(one.draw() == 1);
  const auto refuse = [](leaf::Store&, StateFile&) -> bool { throw Error(ErrorCode::refused, "gone back"); };
  CHECK(error_code([&] { one.alone(refuse); }) == ErrorCode::refused);
  CHECK(one.state().fetch.failures.load() == 1);
}

TEST_CASE("shared ranges: what waiting does not cure is asked for once a minute while IDs are left") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 100}};
  CHECK(buffer.draw() == 1);
  buffer.before_grant = [] { throw Error(ErrorCode::not_found, "no such tag"); };
  // So often that the pause has become as long as it gets.
  for (int i = 0; i < 12; ++i) CHECK(error_code([&] { buffer.fetch(); }) == ErrorCode::not_found);
  fixture.clock.advance(40s);
  CHECK_FALSE(buffer.is_fetch_due());
  fixture.clock.advance(21s);
  CHECK(buffer.is_fetch_due());
}

TEST_CASE("shared ranges: the pause after a failure is over with the next grant") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 3}};
  CHECK(buffer.draw() == 1);
  CHECK(error_code([&] {
          buffer.before_grant = [] { throw Error(ErrorCode::not_found, "no such tag"); };
          buffer.fetch();
        }) == ErrorCode::not_found);
  CHECK_FALSE(buffer.is_fetch_due());
  buffer.before_grant = [] {};
  buffer.grants = {{3, 10}};
  buffer.fetch();
  CHECK(buffer.draw() == 2);
  CHECK(buffer.draw() == 3);
  CHECK(buffer.is_fetch_due());
}

TEST_CASE("shared ranges: a tag that does not exist leaves no file") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.before_grant = [] { throw Error(ErrorCode::not_found, "no such tag"); };
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::not_found);
  CHECK(leaf::test::state_files_in(fixture.run).empty());
}

TEST_CASE("shared ranges: a tag that is gone leaves its file to those who have not drawn what lies in it") {
  SharedRangesFixture fixture;
  Buffer one(fixture), other(fixture);
  one.grants = {{1, 10}};
  one.fetch();
  one.before_grant = [] { throw Error(ErrorCode::not_found, "no such tag"); };
  CHECK(error_code([&] { one.wait_until([] { return false; }); }) == ErrorCode::not_found);
  CHECK(other.draw() == 1);
  CHECK(other.asked == 0);
}

TEST_CASE("shared ranges: what another has fetched since one looked is drawn, and nothing is fetched again") {
  SharedRangesFixture fixture;
  Buffer one(fixture), other(fixture);
  one.grants = {{100, 200}};
  other.grants = {{1, 10}};
  bool has_looked = false;
  Range taken;
  one.wait_until([&] {
    if (!std::exchange(has_looked, true)) {
      other.fetch();
      return false;
    }
    taken = one.buffer().take(1).range;
    return !taken.empty();
  });
  CHECK(one.asked == 0);
  CHECK(taken == Range{1, 2});
  CHECK(one.draw() == 2);
}

TEST_CASE("shared ranges: a store that was named by mistake leaves no file, unless one held something") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.before_grant = [] { throw Error(ErrorCode::usage, "no such database"); };
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::usage);
  CHECK(leaf::test::state_files_in(fixture.run).empty());
  buffer.before_grant = [] {};
  buffer.grants = {{1, 3}};
  CHECK(buffer.draw() == 1);
  CHECK(buffer.draw() == 2);
  buffer.before_grant = [] { throw Error(ErrorCode::usage, "no such database"); };
  CHECK(error_code([&] { buffer.draw(); }) == ErrorCode::usage);
  CHECK(leaf::test::state_files_in(fixture.run).size() == 1);
}

TEST_CASE("shared ranges: tags have files of their own") {
  SharedRangesFixture fixture;
  Buffer order(fixture), invoice(fixture, "invoice");
  order.grants = {{1, 10}};
  invoice.grants = {{1, 10}};
  CHECK(order.draw() == 1);
  CHECK(invoice.draw() == 1);
}

namespace {

/// Sets one while it lives.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* const found = std::getenv(name)) former_ = found;
    setenv(name, value.c_str(), 1);
  }
  ~EnvironmentVariable() { former_ ? setenv(name_, former_->c_str(), 1) : unsetenv(name_); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> former_{};
};

/// The copy of a deployment that a SQLite file is.
std::string copy_in(const fs::path& path) {
  struct statx file {};
  REQUIRE(statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &file) == 0);
  return leaf::store::identity_of(file).copy();
}

/// What `name` of a store is known to lead to after `noted` led to d1.
bool is_same_name(SharedRangesFixture& fixture, const std::string& noted, const std::string& variables,
                  const std::string& name, const std::string& other_variables, const std::string& copy = "") {
  const leaf::host::Folder folder = leaf::host::Folder::open(fixture.host_options());
  const auto name_of = [&](const std::string& url, const std::string& key) {
    leaf::HostOptions host = fixture.host_options();
    host.store_key = key;
    return leaf::host::StoreName(url, host);
  };
  const leaf::host::StoreName first = name_of(noted, variables);
  first.note(folder, {"d1", copy}, {first.stamp(), leaf::UnixTime{}}, standing_at(leaf::UnixTime{}));
  const bool same = name_of(name, other_variables).look_up(folder, leaf::UnixTime{}).has_value();
  first.forget(folder);
  return same;
}

}  // namespace

TEST_CASE("store name: what may lead to different stores has different names") {
  SharedRangesFixture fixture;
  CHECK_FALSE(is_same_name(fixture, "sqlite:/a", "", "sqlite:/b", ""));
  CHECK_FALSE(is_same_name(fixture, "postgresql://h/a", "", "postgresql://h/b", ""));
  CHECK_FALSE(is_same_name(fixture, "postgresql://h", "PGDATABASE=a\n", "postgresql://h", "PGDATABASE=b\n"));
  CHECK_FALSE(is_same_name(fixture, "postgresql://h:5432/shop?application_name=leaf@web1", "",
                           "postgresql://h:5432/billing?application_name=leaf@web1", ""));
  CHECK(is_same_name(fixture, "postgresql://h/a", "", "postgresql://h/a", ""));
  const fs::path store = fixture.home.path() / "store";
  std::ofstream(store) << "one";
  fs::create_symlink(store, fixture.home.path() / "link");
  CHECK(is_same_name(fixture, "sqlite:" + store.string(), "",
                     "sqlite:" + (fixture.home.path() / "." / "link").string(), "", copy_in(store)));
}

namespace {

/// Whether such a child knows where `url` leads as its parent does.
std::optional<bool> is_known_elsewhere(SharedRangesFixture& fixture, const std::string& url, int namespaces,
                                       const std::function<bool()>& surroundings,
                                       const std::string& variables = "") {
  leaf::HostOptions options = fixture.host_options();
  // And nothing that libpq would take from this test's surroundings.
  options.store_key = "HOME=/nowhere\n" + variables;
  const leaf::host::Folder folder = leaf::host::Folder::open(options);
  const leaf::host::StoreName here(url, options);
  here.note(folder, {"d1", ""}, {here.stamp(), leaf::UnixTime{}}, standing_at(leaf::UnixTime{}));
  REQUIRE(here.look_up(folder, leaf::UnixTime{}));
  return elsewhere(namespaces, surroundings, [&] {
    return leaf::host::StoreName(url, options).look_up(folder, leaf::UnixTime{}).has_value();
  });
}

}  // namespace

TEST_CASE("store name: a container that it may lead elsewhere in asks for itself") {
  SharedRangesFixture fixture;
  const fs::path sockets = fixture.home.path() / "sockets";
  fs::create_directory(sockets);
  const auto nothing = [] { return true; };
  const auto other_sockets = [&] { return mount_over(sockets); };
  std::optional<bool> known;
  SUBCASE("another network") {
    known = is_known_elsewhere(fixture, "postgresql://127.0.0.1/ids", CLONE_NEWNET, nothing);
  }
  SUBCASE("another folder of sockets") {
    known =
        is_known_elsewhere(fixture, "dbname=ids host=db1," + sockets.string(), CLONE_NEWNS, other_sockets);
  }
  SUBCASE("the default folder of sockets, which an empty element of a list names") {
    const char* const of_debian = "/var/run/postgresql";
    const fs::path folder = fs::exists(of_debian) ? of_debian : "/tmp";
    for (const char* hosts : {"", ",db1", "db1,"}) {
      known = is_known_elsewhere(fixture, fmt::format("dbname=ids host={}", hosts), CLONE_NEWNS,
                                 [&] { return mount_over(folder); });
      CHECK_FALSE(known.value_or(false));
    }
  }
  SUBCASE("another socket, mounted alone") {
    for (const char* port : {"5432", "5433", "5444"})
      std::ofstream(sockets / fmt::format(".s.PGSQL.{}", port));
    std::ofstream(sockets / "another");
    const auto is_known = [&](const char* port, const std::string& said) {
      return is_known_elsewhere(fixture, "dbname=ids host=" + sockets.string() + said, CLONE_NEWNS, [&] {
        return mount_over(sockets / fmt::format(".s.PGSQL.{}", port), sockets / "another");
      });
    };
    CHECK_FALSE(is_known("5432", "").value_or(false));
    CHECK(is_known("5433", "").value_or(true));
    known = is_known("5444", " port=5433,5444");
  }
  SUBCASE("another list of hosts") {
    std::ofstream(fixture.home.path() / "hosts") << "192.0.2.1 db1\n";
    known = is_known_elsewhere(fixture, "postgresql://db1/ids", CLONE_NEWNS,
                               [&] { return mount_over("/etc/hosts", fixture.home.path() / "hosts"); });
  }
  SUBCASE("a service, whatever it says") {
    known = is_known_elsewhere(fixture, "service=ids", CLONE_NEWNS, nothing);
  }
  SUBCASE("a service that a variable names") {
    known =
        is_known_elsewhere(fixture, "postgresql://127.0.0.1/ids", CLONE_NEWNS, nothing, "PGSERVICE=ids\n");
  }
  if (!known) MESSAGE("not tested: needs leave to make namespaces");
  CHECK_FALSE(known.value_or(false));
}

TEST_CASE("store name: where it leads one user tells another nothing" * doctest::skip(geteuid() != 0)) {
  SharedRangesFixture fixture;
  leaf::HostOptions options = fixture.host_options();
  options.store_key = "HOME=/nowhere\n";  // of both
  const leaf::host::Folder folder = leaf::host::Folder::open(options);
  const leaf::host::StoreName name(fixture.url, options);
  REQUIRE(seteuid(65534) == 0);
  const leaf::host::StoreName anothers(fixture.url, options);
  REQUIRE(seteuid(0) == 0);
  name.note(folder, {"d1", ""}, {name.stamp(), leaf::UnixTime{}}, standing_at(leaf::UnixTime{}));
  CHECK(leaf::host::StoreName(fixture.url, options).led_to(folder));
  CHECK_FALSE(anothers.led_to(folder));
}

TEST_CASE("shared ranges: a file that another one covers is left for it though their inodes are the same") {
  SharedRangesFixture fixture;
  fs::create_directory(fixture.run);
  const auto cover = [&] { return mount_over(fixture.run); };
  const auto is_left = elsewhere(CLONE_NEWNS, cover, [&] {
    const auto file = [&] { return inode_of(state_file_in(fixture.run)); };
    Buffer one(fixture), other(fixture);
    leaf::Store store(fixture.store_options());
    one.grants = {{1, 100}};
    if (one.draw() != 1) return false;
    const ino_t inode = file();
    other.grants = {{100, 200}};
    if (!cover() || other.draw() != 100) return false;
    if (file() != inode) _exit(2);  // this system numbers the files of all file systems as one
    if (one.draw() != 2) return false;
    check(one, store);
    return one.draw() == 101;
  });
  if (!is_left)
    MESSAGE("not tested: needs leave to make namespaces, and inodes that each file system numbers");
  CHECK(is_left.value_or(true));
}

TEST_CASE("store name: a path is another name under another mount, though what is away may be meant") {
  SharedRangesFixture fixture;
  const leaf::HostOptions options = fixture.host_options();
  const leaf::host::Folder folder = leaf::host::Folder::open(options);
  const fs::path mounted = fixture.home.path() / "mounted", file = mounted / "of" / "leaf.db";
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "a store";
  const auto name = [&] { return leaf::host::StoreName("sqlite:" + file.string(), options); };
  const auto is_led_to = [&](const char* deployment) {
    const auto store = name().led_to(folder);
    return store && store->deployment == deployment;
  };
  const auto was_led_to = [&](const char* deployment) {
    const auto store = name().led_to_anywhere(folder);
    return store && store->deployment == deployment;
  };
  const auto note = [&](const char* deployment, leaf::UnixTime asked) {
    const leaf::host::StoreName here = name();
    return here.note(folder, {deployment, copy_in(file)}, {here.stamp(), asked}, standing_at(asked));
  };
  REQUIRE(note("d1", leaf::UnixTime(1s)));
  const auto is_other_there = elsewhere(
      CLONE_NEWNS, [&] { return mount_over(mounted); },
      [&] {
        const bool is_away = !is_led_to("d1") && was_led_to("d1");
        fs::create_directories(file.parent_path());
        std::ofstream(file) << "another";
        return is_away && !is_led_to("d1") && was_led_to("d1") && note("d2", leaf::UnixTime(2s)) &&
               is_led_to("d2");
      });
  if (is_other_there) CHECK(*is_other_there);
  CHECK(is_led_to("d1"));  // neither takes it from the other
  const auto mount_on_itself = [&] {
    const std::string itself = file.parent_path().string();
    return mount_over(itself, itself);
  };
  const auto is_known_there = elsewhere(CLONE_NEWNS, mount_on_itself, [&] { return was_led_to("d2"); });
  if (is_known_there) CHECK(*is_known_there);
  fs::remove_all(mounted);
  CHECK(is_led_to("d1"));
}

TEST_CASE("store name: a unit that sees other files but the same servers relies on what is known") {
  SharedRangesFixture fixture;
  const fs::path elsewhere = fixture.home.path() / "elsewhere";
  fs::create_directory(elsewhere);
  const auto known =
      is_known_elsewhere(fixture, "postgresql://db1/ids", CLONE_NEWNS, [&] { return mount_over(elsewhere); });
  CHECK(known.value_or(true));
  // The same server, which has started anew.
  const auto restarted =
      is_known_elsewhere(fixture, "dbname=ids host=" + elsewhere.string(), CLONE_NEWNS, [&] {
        std::ofstream(elsewhere / ".s.PGSQL.5432");
        return true;
      });
  CHECK(restarted.value_or(true));
}

TEST_CASE("store name: what libpq takes from the environment counts also where nobody says so") {
  SharedRangesFixture fixture;
  const leaf::host::Folder folder = leaf::host::Folder::open(fixture.host_options());
  const auto name_here = [&](const char* url) { return leaf::host::StoreName(url, fixture.host_options()); };
  const auto note = [&](const leaf::host::StoreName& name) {
    name.note(folder, {"d1", ""}, {name.stamp(), leaf::UnixTime{}}, standing_at(leaf::UnixTime{}));
  };
  const auto is_known = [&](const char* url) {
    return name_here(url).look_up(folder, leaf::UnixTime{}).has_value();
  };
  const fs::path services = fixture.home.path() / "services";
  std::ofstream(services) << "[ids]\nhost=a\n";
  const EnvironmentVariable host("PGHOST", "a"), service_file("PGSERVICEFILE", services.string());
  note(name_here("dbname=ids"));
  note(name_here("service=ids"));
  CHECK(is_known("dbname=ids"));
  CHECK(is_known("service=ids"));
  std::ofstream(services) << "[ids]\nhost=another\n";
  CHECK_FALSE(is_known("service=ids"));
  const EnvironmentVariable another("PGHOST", "b");
  CHECK_FALSE(is_known("dbname=ids"));
}

TEST_CASE("shared ranges: a clock that is set back lengthens no pause") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture, "order", 0ms);
  buffer.grants = {{1, 3}};
  CHECK(buffer.draw() == 1);
  CHECK_THROWS(buffer.fetch());
  CHECK_FALSE(buffer.is_fetch_due());
  fixture.clock.set_back(50s);
  CHECK(buffer.is_fetch_due());
  CHECK(buffer.draw() == 2);
  CHECK_THROWS(buffer.draw());
  fixture.clock.set_back(50s);
  Buffer another(fixture);
  another.grants = {{3, 5}};
  CHECK(another.draw() == 3);
}

TEST_CASE("store name: of those that nobody has checked for a day the oldest go, once there are many") {
  SharedRangesFixture fixture;
  const leaf::host::Folder folder = leaf::host::Folder::open(fixture.host_options());
  const leaf::UnixTime begin(100h);
  const auto note = [&](const std::string& url, leaf::UnixTime now) {
    const leaf::host::StoreName name(url, fixture.host_options());
    name.note(folder, {"d1", ""}, {name.stamp(), now}, standing_at(now));
  };
  const auto is_known = [&](const std::string& url) {
    return leaf::host::StoreName(url, fixture.host_options()).led_to(folder).has_value();
  };
  const auto container = [](int number) { return "postgresql://h/container" + std::to_string(number); };
  note("postgresql://h/oldest", begin);
  note("postgresql://h/old", begin + 1s);
  note("sqlite:/oldest", begin);
  note("postgresql://h/ahead", begin + 1000h);
  note("postgresql://h/new", begin + 100h);
  CHECK(is_known("postgresql://h/oldest"));  // of a job that runs once a week
  for (int number = 0; number < 96; ++number) note(container(number), begin + 2s);
  note("postgresql://h/newer", begin + 100h);  // there are 100 before it
  CHECK(is_known("postgresql://h/oldest"));
  note("postgresql://h/newest", begin + 100h);  // and now 101
  CHECK_FALSE(is_known("postgresql://h/oldest"));
  CHECK(is_known("postgresql://h/old"));
  CHECK(is_known("sqlite:/oldest"));
  CHECK(is_known("postgresql://h/ahead"));
  CHECK(is_known(container(0)));
  note("postgresql://h/one", begin - 1h);  // by a clock that is behind: nothing is a day old
  CHECK(is_known("postgresql://h/old"));
}

TEST_CASE("shared ranges: what comes late from another store is lost where a fetch is under way there") {
  LateFromAnotherStore fixture({{1, 2}, {20, 30}});
  {
    const HeldLock held(fixture.file);
    fixture.one.fetch();
    CHECK(fixture.one.asked == 2);
    CHECK(fixture.other.state().buffer.take(1).range.empty());
  }
  CHECK(fixture.other.draw() == 20);
}

TEST_CASE("shared ranges: what comes late from another store is lost where its file is going") {
  LateFromAnotherStore fixture({{1, 3}});
  StoppedTaker taker;
  SUBCASE("it was removed") {
    fixture.one.before_newest = [&] { fs::remove(fixture.file); };
    fixture.one.fetch();
    CHECK(fixture.other.state().buffer.take(10).range == Range{2, 3});
  }
  SUBCASE("somebody is taking it") {
    fixture.one.before_newest = [&] { taker.begin(fixture.file); };
    fixture.one.fetch();
    CHECK(fixture.other.state().buffer.take(1).range.empty());
    CHECK(taker.goes_on());
  }
  CHECK(fixture.one.asked == 2);
  CHECK(fixture.other.state().buffer.take(1).range.empty());
}

TEST_CASE("shared ranges: what comes late from another store is not lower than what was drawn there") {
  SharedRangesFixture fixture;
  Buffer one(fixture);
  one.order_mark = "order of one";
  one.grants = {{1000, 1001}, {10, 20}, {60, 70}};
  CHECK(one.draw() == 1000);
  // As from a buffer that was taken from who had stopped.
  leaf::host_marks(fixture.host_options())->raise("d2", one.order_mark, 50);
  one.deployment = "d2";
  one.fetch();
  CHECK(one.draw() == 60);
}

TEST_CASE(
    "shared ranges: what comes after a buffer that was closed is not lower, whoever closed it has stopped") {
  SharedRangesFixture fixture;
  Buffer holder(fixture), next(fixture);
  holder.order_mark = next.order_mark = "order of one";
  holder.grants = {{100, 200}};
  CHECK(holder.draw() == 100);
  StoppedTaker taker;
  taker.begin(state_file_in(fixture.run));
  next.grants = {{300, 400}};
  SUBCASE("") {
    next.fetch();
    CHECK(next.told_order_end == 101);
  }
  SUBCASE("but for an end that is damaged") {
    holder.state().end_of_taken ^= std::int64_t{1} << 40;
    next.fetch();
    CHECK(next.told_order_end == 0);
  }
  CHECK(taker.goes_on());
}

TEST_CASE("shared ranges: what IDs are made by is not read again from a file that may be damaged since") {
  SharedRangesFixture fixture;
  Buffer buffer(fixture);
  buffer.grants = {{1, 10}};
  CHECK(buffer.draw() == 1);
  buffer.state().origin.set("o2");
  CHECK(buffer.origin() == "o1");
}

TEST_CASE("store name: one that goes through a file which has changed is looked up anew") {
  SharedRangesFixture fixture;
  const fs::path services = fixture.home.path() / "services";
  std::ofstream(services) << "[ids]\ndbname=staging\n";
  leaf::HostOptions host = fixture.host_options();
  host.store_files = {services, fixture.home.path() / "none"};
  const leaf::host::Folder folder = leaf::host::Folder::open(host);
  const leaf::host::StoreName name("service=ids", host);
  const auto is_known = [&] { return name.look_up(folder, leaf::UnixTime{}).has_value(); };
  const auto before = name.stamp();
  name.note(folder, {"d1", ""}, {before, leaf::UnixTime{}}, standing_at(leaf::UnixTime{}));
  REQUIRE(is_known());
  SUBCASE("edited") {
    std::ofstream(services) << "[ids]\ndbname=production\n";
  }
  SUBCASE("replaced") {
    std::ofstream(fixture.home.path() / "another") << "[ids]\ndbname=staging\n";
    fs::rename(fixture.home.path() / "another", services);
  }
  SUBCASE("made") {
    std::ofstream(fixture.home.path() / "none") << "";
  }
  SUBCASE("removed") {
    fs::remove(services);
  }
  CHECK_FALSE(is_known());
  CHECK(name.led_to(folder) == leaf::StoreIdentity{"d1", ""});
  name.note(folder, {"d2", ""}, {name.stamp(), leaf::UnixTime{}}, standing_at(leaf::UnixTime{}));
  REQUIRE(is_known());
  CHECK(name.look_up(folder, leaf::UnixTime{})->store.deployment == "d2");
}

TEST_CASE("store name: what was asked before a file changed does not count for the changed one") {
  ServiceFixture fixture;
  Buffer buffer(fixture);
  buffer.before_identify = [&] { fixture.turn_to("production"); };
  leaf::Store store(fixture.store_options());
  buffer.check_name(store);
  const leaf::host::StoreName name(fixture.url, fixture.host_options());
  const leaf::host::Folder folder = leaf::host::Folder::open(fixture.host_options());
  const auto now = std::chrono::floor<std::chrono::milliseconds>(fixture.clock.now());
  CHECK(name.led_to(folder));
  CHECK_FALSE(name.look_up(folder, now));
}

TEST_CASE("store name: while a SQLite file is away its name leads to no other store") {
  SharedRangesFixture fixture;
  const leaf::host::Folder folder = leaf::host::Folder::open(fixture.host_options());
  const fs::path path = fixture.home.path() / "store", aside = fixture.home.path() / "aside";
  std::ofstream(path) << "one";
  const leaf::host::StoreName name("sqlite:" + path.string(), fixture.host_options());
  const leaf::StoreIdentity store{"d1", copy_in(path)};
  const auto is_left = [&] { return name.visibly_leads_elsewhere(folder, store); };
  CHECK_FALSE(is_left());
  fs::rename(path, aside);
  CHECK_FALSE(is_left());
  std::ofstream(path) << "another";
  CHECK(is_left());
  fs::rename(aside, path);
  CHECK_FALSE(is_left());
}

TEST_CASE("store name: a SQLite file has no name by what was asked of another file") {
  SharedRangesFixture fixture;
  const leaf::host::Folder folder = leaf::host::Folder::open(fixture.host_options());
  const auto at = [&](const char* name) { return fixture.home.path() / name; };
  for (const char* name : {"first", "second"}) std::ofstream(at(name)) << name;
  fs::create_symlink("first", at("link"));
  const leaf::host::StoreName name("sqlite:" + at("link").string(), fixture.host_options());
  const leaf::host::StoreName second("sqlite:" + at("second").string(), fixture.host_options());
  const auto store_of = [](const leaf::host::StoreName::Known& known) { return known.store; };
  const leaf::StoreIdentity of_first{"d1", copy_in(at("first"))};
  const leaf::StoreIdentity of_second{"d2", copy_in(at("second"))};
  CHECK_FALSE(name.note(folder, of_second, {name.stamp(), leaf::UnixTime{}}, standing_at(leaf::UnixTime{})));
  CHECK_FALSE(name.note(folder, {"d1", ""}, {name.stamp(), leaf::UnixTime{}}, standing_at(leaf::UnixTime{})));
  CHECK_FALSE(name.led_to(folder));
  CHECK(name.note(folder, of_first, {name.stamp(), leaf::UnixTime{}}, standing_at(leaf::UnixTime{})));
  CHECK(store_of(name.look_up(folder, leaf::UnixTime{}).value()) == of_first);
  CHECK(name.shown_for(of_first) == "sqlite:" + fs::canonical(at("first")).string());
  CHECK(name.shown_for(of_second) == "sqlite:" + at("link").string());
  fs::remove(at("link"));
  fs::create_symlink("second", at("link"));
  CHECK_FALSE(name.look_up(folder, leaf::UnixTime{}));
  CHECK_FALSE(name.note(folder, of_first, {name.stamp(), leaf::UnixTime{}}, standing_at(leaf::UnixTime{})));
  CHECK(name.note(folder, of_second, {name.stamp(), leaf::UnixTime{}}, standing_at(leaf::UnixTime{})));
  for (const auto* either : {&name, &second})
    CHECK(store_of(either->look_up(folder, leaf::UnixTime{}).value()) == of_second);
  // A program of before may have noted what it was told by another file.
  const auto noted = StateFile::find(folder, leaf::host::state_files(folder, {FileKind::store_name}).at(0));
  REQUIRE(noted);
  const bool is_second = noted->identity() == of_second;
  const leaf::host::FileKey key{.kind = FileKind::store_name,
                                .name = noted->name(),
                                .key = noted->name(),
                                .identity = {"d3", is_second ? of_first.copy : of_second.copy}};
  const auto wrong = StateFile::open(folder, key);
  wrong->state().store_name.stamp = noted->state().store_name.stamp.load();
  const leaf::host::StoreName misled("sqlite:" + at(is_second ? "second" : "first").string(),
                                     fixture.host_options());
  CHECK(misled.led_to(folder)->deployment == "d3");
  CHECK_FALSE(misled.look_up(folder, leaf::UnixTime{}));
  CHECK(misled.note(folder, is_second ? of_second : of_first, {misled.stamp(), leaf::UnixTime{}},
                    standing_at(leaf::UnixTime{})));
  CHECK(misled.look_up(folder, leaf::UnixTime{}));
  fs::remove(at("second"));
  CHECK_FALSE(second.look_up(folder, leaf::UnixTime{}));
  CHECK_FALSE(
      second.note(folder, of_second, {second.stamp(), leaf::UnixTime{}}, standing_at(leaf::UnixTime{})));
}

TEST_CASE("store name: an answer that was asked for earlier does not take it from a later one") {
  SharedRangesFixture fixture;
  const leaf::host::Folder folder = leaf::host::Folder::open(fixture.host_options());
  const leaf::host::StoreName name("postgresql://h/a", fixture.host_options());
  const leaf::UnixTime begin(1h);
  const auto note = [&](const char* store, std::chrono::seconds asked) {
    return name.note(folder, {store, ""}, {name.stamp(), begin + asked}, standing_at(begin + 60s));
  };
  CHECK(note("d2", 5s));
  CHECK_FALSE(note("d1", 4s));
  CHECK(name.look_up(folder, begin + 60s)->store.deployment == "d2");
  CHECK(note("d2", 4s));  // says the same
  CHECK(note("d1", 6s));
  CHECK(name.look_up(folder, begin + 60s)->store.deployment == "d1");
  // What was asked for in what is the future now tells nothing.
  CHECK(note("d2", 90s));
  CHECK(note("d1", 50s));
}

TEST_CASE("store name: an answer does not turn a name that has turned since it was asked for") {
  SharedRangesFixture fixture;
  const leaf::host::Folder folder = leaf::host::Folder::open(fixture.host_options());
  const leaf::host::StoreName name("postgresql://h/a", fixture.host_options());
  const leaf::UnixTime begin(1h);
  const auto note = [&](const char* store, std::chrono::seconds asked, const char* led_to) {
    const leaf::host::StoreName::Question question{
        .stamp = name.stamp(), .at = begin + asked, .led_to = leaf::StoreIdentity{led_to, ""}};
    return name.note(folder, {store, ""}, question, standing_at(begin + 60s));
  };
  CHECK(note("d1", 1s, "d1"));
  CHECK(note("d2", 2s, "d1"));
  CHECK_FALSE(note("d1", 3s, "d1"));
  CHECK(name.led_to(folder).value().deployment == "d2");
  CHECK(note("d2", 4s, "d1"));  // says the same
  CHECK(note("d1", 5s, "d2"));
  CHECK(name.led_to(folder).value().deployment == "d1");
}

TEST_CASE("store name: an answer is compared by the time at which it is, by who was stopped with it too") {
  SharedRangesFixture fixture;
  const leaf::host::Folder folder = leaf::host::Folder::open(fixture.host_options());
  const leaf::host::StoreName name("postgresql://h/a", fixture.host_options());
  const leaf::UnixTime begin(1h);
  CHECK(name.note(folder, {"d2", ""}, {name.stamp(), begin + 5s}, standing_at(begin + 5s)));
  const std::string file = leaf::host::state_files(folder, {leaf::host::FileKind::store_name}).front();
  bool is_locked = false;
  const auto now = [&] {
    const leaf::host::Descriptor another(openat(folder.descriptor(), file.c_str(), O_RDWR | O_CLOEXEC));
    is_locked = !leaf::host::lock_file(another.get());
    return begin + 60s;
  };
  CHECK_FALSE(name.note(folder, {"d1", ""}, {name.stamp(), begin + 4s}, now));
  CHECK(is_locked);
}

TEST_CASE("store name: where it leads is checked when half a minute is over, by one of all who see that") {
  SharedRangesFixture fixture;
  const leaf::host::Folder folder = leaf::host::Folder::open(fixture.host_options());
  const leaf::host::StoreName name("postgresql://h/a", fixture.host_options());
  const leaf::UnixTime begin(1h);
  name.note(folder, {"d1", ""}, {name.stamp(), begin}, standing_at(begin));
  const auto is_due = [&](leaf::UnixTime now) { return name.look_up(folder, now)->check_is_due; };
  CHECK_FALSE(is_due(begin));
  CHECK_FALSE(is_due(begin + 29s));
  CHECK(is_due(begin + 30s));
  CHECK(is_due(begin - 1s));  // the clock was set back
  CHECK(name.claim_check(folder, begin + 30s));
  CHECK_FALSE(name.claim_check(folder, begin + 31s));
  CHECK(name.claim_check(folder, begin + 70s));
  name.note(folder, {"d1", ""}, {name.stamp(), begin + 70s}, standing_at(begin + 70s));
  CHECK_FALSE(is_due(begin + 99s));
}
