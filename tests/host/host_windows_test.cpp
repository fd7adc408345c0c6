#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "host/state_patch.hpp"
#include "leaf/host.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "support/error_of.hpp"
#include "support/held_lock.hpp"
#include "support/sqlite_session.hpp"
#include "support/test_host.hpp"
#include "support/worker_request.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using leaf::ErrorCode;
using leaf::SnowflakeGenerator;
using leaf::SnowflakeOptions;
using leaf::UnixTime;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::error_text;
using leaf::test::proposes;
using leaf::test::SqliteStore;
using leaf::test::TestHost;

namespace {

/// A store, a folder of host state, and time that both have from the test.
struct SnowflakeHost : TestHost {
  SnowflakeOptions snowflake(const std::string& owner = "here",
                             std::optional<std::int64_t> pinned = {}) const {
    SnowflakeOptions options;
    options.worker.owner = owner;
    options.worker.worker = pinned;
    options.timeout = 1s;
    options.host = host_options();
    return options;
  }
  /// As in a process of its own.
  SnowflakeGenerator generator() { return SnowflakeGenerator(store_options(), snowflake()); }
  std::vector<leaf::Worker> workers() { return open().workers(); }
  int drop_ahead() {
    return leaf::drop_host_windows_ahead(store.open().identity(), host_options(), "here", {}, 2s, 1s, clock);
  }
  std::vector<leaf::HostBuffer> buffers() { return leaf::host_buffers(host_options(), clock); }
};

std::vector<std::int64_t> draw(SnowflakeGenerator& generator, std::size_t count) {
  std::vector<std::int64_t> ids(count);
  generator.next(ids);
  return ids;
}

/// What was leased last cannot be renewed then.
void damage_token(const fs::path& file) {
  std::string bytes = leaf::test::read_bytes(file);
  const std::size_t token =
      offsetof(leaf::host::SharedState, worker) + offsetof(leaf::host::WorkerRecord, token);
  bytes[token] = bytes[token] == 'a' ? 'b' : 'a';
  leaf::test::write_bytes(file, bytes);
}

bool strictly_increasing(const std::vector<std::int64_t>& ids) {
  return std::ranges::adjacent_find(ids, std::greater_equal<>()) == ids.end();
}

}  // namespace

TEST_CASE("host windows: all processes make IDs with one worker and one window, in order") {
  SnowflakeHost host;
  std::vector<std::int64_t> ids;
  for (std::size_t round = 1; round <= 50; ++round) {
    SnowflakeGenerator generator = host.generator();
    for (const std::int64_t id : draw(generator, round * 37)) ids.push_back(id);
    if (round % 5 == 0) host.clock.advance(1ms);
  }
  CHECK(strictly_increasing(ids));
  const auto workers = host.workers();
  REQUIRE(workers.size() == 1);
  const auto layout = leaf::Layout::parse("leaf");
  for (const std::int64_t id : ids) CHECK(layout.worker_of(id) == workers[0].id);
}

TEST_CASE("host windows: the next window follows the one before, and is fetched when half is used") {
  SnowflakeHost host;
  SnowflakeGenerator first = host.generator();
  std::vector<std::int64_t> ids{first.next()};
  CHECK_FALSE(first.claim_fetch());
  host.clock.advance(6min);
  ids.push_back(first.next());
  CHECK(first.claim_fetch());
  first.fetch();
  const auto buffers = host.buffers();
  REQUIRE(buffers.size() == 1);
  CHECK(buffers[0].window_end < buffers[0].next_window_end);
  for (int i = 0; i < 10; ++i) {
    host.clock.advance(3min);
    SnowflakeGenerator generator = host.generator();
    ids.push_back(generator.next());
    if (generator.claim_fetch()) generator.fetch();
  }
  CHECK(strictly_increasing(ids));
  CHECK(host.workers().size() == 1);
}

TEST_CASE("host windows: past both windows a new one is leased, of the same worker, and order is kept") {
  SnowflakeHost host;
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(host.generator().next());
    host.clock.advance(25min);
  }
  CHECK(strictly_increasing(ids));
  CHECK(host.workers().size() == 1);
}

TEST_CASE(
    "host windows: another worker takes over where its own was recycled, from the end of the last window") {
  SnowflakeHost host;
  std::vector<std::int64_t> ids = [&] {
    SnowflakeGenerator generator = host.generator();
    return draw(generator, 10);
  }();
  const auto end = host.buffers().at(0).next_window_end;
  leaf::Store admin(host.store_options());
  admin.recycle_worker(host.workers().at(0).id, true);
  host.clock.advance(6min);
  {
    SnowflakeGenerator generator = host.generator();
    ids.push_back(generator.next());
    REQUIRE(generator.claim_fetch());
    generator.fetch();
  }
  const auto after = host.buffers().at(0);
  CHECK(after.window_end == end);
  CHECK(after.next_window_end > end);
  host.clock.advance(5min);
  for (int i = 0; i < 10; ++i) ids.push_back(host.generator().next());
  CHECK(strictly_increasing(ids));
}

TEST_CASE("host windows: where all host state is lost the window that was buffered is never used again") {
  SnowflakeHost host;
  std::set<std::int64_t> ids;
  for (int i = 0; i < 30; ++i) {
    ids.insert(host.generator().next());
    fs::remove_all(host.run);
  }
  CHECK(ids.size() == 30);
  const auto workers = host.workers();
  CHECK(workers.size() == 30);  // each window but the last is still open
}

TEST_CASE("host windows: owners, and workers that are pinned, have windows of their own") {
  SnowflakeHost host;
  std::set<std::int64_t> workers;
  for (const auto& options :
       {host.snowflake(), host.snowflake("there"), host.snowflake("here", 7), host.snowflake("here", 9)}) {
    SnowflakeGenerator generator(host.store_options(), options);
    generator.next();
    workers.insert(generator.worker());
  }
  CHECK(workers == std::set<std::int64_t>{0, 1, 7, 9});
  CHECK(host.buffers().size() == 4);
  CHECK(SnowflakeGenerator(host.store_options(), host.snowflake("here", 9)).worker() == 9);
}

TEST_CASE(
    "host windows: of a layout that is not the expected one nobody makes IDs, though some are buffered") {
  SnowflakeHost host;
  host.generator().next();
  SnowflakeOptions options = host.snowflake();
  options.worker.layout = leaf::Layout::parse("sonyflake");
  CHECK(error_code([&] { SnowflakeGenerator(host.store_options(), options); }) == ErrorCode::usage);
}

TEST_CASE("host windows: children that are forked of a process that has drawn make IDs of their own") {
  constexpr int children = 6, per_child = 20'000;
  SnowflakeHost host;
  SnowflakeOptions options = host.snowflake();
  options.timeout = 30s;
  options.worker.window = 100ms;  // many leases
  SnowflakeGenerator generator(host.store.options(), options);
  std::vector<std::int64_t> ids = draw(generator, 1000);
  std::vector<pid_t> pids;
  for (int child = 0; child < children; ++child) {
    pids.push_back(fork());
    if (pids.back() != 0) continue;
    int ended = 1;
    try {
      const auto own = draw(generator, per_child);
      const std::string name = (host.home.path() / std::to_string(child)).string();
      const int file = open(name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
      const auto size = static_cast<ssize_t>(own.size() * sizeof own[0]);
      ended =
          strictly_increasing(own) && write(file, own.data(), static_cast<std::size_t>(size)) == size ? 0 : 2;
    } catch (...) {
    }
    _exit(ended);
  }
  for (const std::int64_t id : draw(generator, per_child)) ids.push_back(id);
  CHECK(strictly_increasing(ids));
  for (int child = 0; child < children; ++child) {
    int status = 0;
    REQUIRE(waitpid(pids[static_cast<std::size_t>(child)], &status, 0) > 0);
    CHECK(status == 0);
    const std::string bytes = leaf::test::read_bytes(host.home.path() / std::to_string(child));
    std::vector<std::int64_t> own(bytes.size() / sizeof(std::int64_t));
    std::memcpy(own.data(), bytes.data(), bytes.size());
    ids.insert(ids.end(), own.begin(), own.end());
  }
  CHECK(ids.size() == 1000 + (children + 1) * per_child);
  CHECK(std::set<std::int64_t>(ids.begin(), ids.end()).size() == ids.size());
}

TEST_CASE("host windows: a store put back to a copy of before leases no time a second time") {
  SnowflakeHost host;
  host.generator().next();
  REQUIRE(leaf::test::SqliteSession(host.store.path()).run("VACUUM INTO '" + host.store.path() + ".backup'"));
  std::vector<std::int64_t> ids;
  host.clock.advance(6min);
  {
    SnowflakeGenerator generator = host.generator();
    ids.push_back(generator.next());
    generator.fetch();
  }
  host.clock.advance(5min);
  ids.push_back(host.generator().next());
  fs::remove(host.store.path() + "-wal");
  fs::remove(host.store.path() + "-shm");
  SUBCASE("over it") {
    leaf::test::write_bytes(host.store.path(), leaf::test::read_bytes(host.store.path() + ".backup"));
    fs::resize_file(host.store.path(), fs::file_size(host.store.path() + ".backup"));
  }
  SUBCASE("in its place") {
    fs::rename(host.store.path() + ".backup", host.store.path());
  }
  for (int i = 0; i < 40; ++i) {
    host.clock.advance(1min);
    // Refused or not, what comes is higher: the host knows where its windows ended.
    error_code([&] { ids.push_back(host.generator().next()); });
  }
  CHECK(ids.size() > 2);
  CHECK(strictly_increasing(ids));
}

TEST_CASE("host windows: a generator that runs goes over to the deployment that its store has become") {
  SnowflakeHost host;
  SnowflakeGenerator running = host.generator();
  std::vector<std::int64_t> ids{running.next()};
  leaf::Store admin(host.store_options());
  const leaf::StoreIdentity former = admin.identity();
  CHECK(running.store() == former);
  const leaf::StoreIdentity now = admin.begin_new_deployment(former.deployment);
  SUBCASE("at once where its windows are given up") {
    CHECK(leaf::forget_store(former, *host.snowflake().host, 1s, host.clock) == 1);
  }
  SUBCASE("when they are over") {
    host.clock.advance(21min);
  }
  for (int i = 0; i < 3; ++i) {
    host.clock.advance(1ms);
    ids.push_back(running.next());
    ids.push_back(host.generator().next());
  }
  CHECK(std::set<std::int64_t>(ids.begin(), ids.end()).size() == ids.size());
  CHECK(running.store() == now);
  bool is_there = false;
  for (const leaf::HostBuffer& buffer : host.buffers()) is_there |= buffer.deployment == now.deployment;
  CHECK(is_there);
}

TEST_CASE("host windows: the worker stays the last one while nothing is buffered") {
  SnowflakeHost host;
  host.open().acquire_worker(leaf::test::request_of("another"));
  const auto made = [&] {
    return std::make_unique<SnowflakeGenerator>(host.store_options(), host.snowflake());
  };
  auto running = made();
  std::int64_t last = 1;
  const auto worker_of_next = [&] { return leaf::Layout::parse("leaf").worker_of(running->next()); };
  SUBCASE("as it was when somebody asked") {
    CHECK(running->worker() == 1);
  }
  SUBCASE("as it was drawn with") {
    CHECK(worker_of_next() == 1);
  }
  SUBCASE("as it was found") {
    running = made();
  }
  SUBCASE("as another one has taken its place") {
    damage_token(leaf::test::state_file_in(host.run));
    host.clock.advance(6min);
    running->next();
    running->fetch();
    host.clock.advance(5min);
    last = 2;
    CHECK(worker_of_next() == last);
  }
  fs::remove(leaf::test::state_file_in(host.run));
  host.clock.advance(21min);
  const fs::path away = host.store.path() + ".away";
  fs::rename(host.store.path(), away);
  CHECK(error_code([&] { running->next(); }));
  CHECK(host.buffers().empty());
  CHECK(running->worker() == last);
  fs::rename(away, host.store.path());
  running->fetch();
  CHECK(running->worker() == last);
  const std::int64_t next = worker_of_next();
  CHECK(running->worker() == next);
}

TEST_CASE("host windows: the worker's record is as good as none where its token is not whole") {
  SnowflakeHost host;
  std::vector<std::int64_t> ids{host.generator().next()};
  damage_token(leaf::test::state_file_in(host.run));
  host.clock.advance(6min);
  ids.push_back(host.generator().next());
  host.generator().fetch();
  host.clock.advance(5min);
  ids.push_back(host.generator().next());
  CHECK(strictly_increasing(ids));
  CHECK(host.workers().size() == 2);
}

TEST_CASE("host windows: a window of which a dying process gave up the rest is not leased a second time") {
  SnowflakeHost host;
  auto ids = draw(*std::make_unique<SnowflakeGenerator>(host.store_options(), host.snowflake()), 1000);
  // As DoubleBuffer::close() leaves it. It still has its name: whoever was to take that has died.
  std::string bytes = leaf::test::read_bytes(leaf::test::state_file_in(host.run));
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offsetof(leaf::host::SharedState, buffer), sizeof word);
  word = ((word >> 32) + 3) << 32 | UINT32_MAX;
  for (const std::size_t place : {std::size_t{0}, sizeof word})
    std::memcpy(bytes.data() + offsetof(leaf::host::SharedState, buffer) + place, &word, sizeof word);
  leaf::test::write_bytes(leaf::test::state_file_in(host.run), bytes);
  host.clock.set_back(1s);
  for (const std::int64_t id :
       draw(*std::make_unique<SnowflakeGenerator>(host.store_options(), host.snowflake()), 1000))
    ids.push_back(id);
  // The clock decides on their order.
  std::ranges::sort(ids);
  CHECK(strictly_increasing(ids));
}

TEST_CASE(
    "host windows: who takes the file of a process that has stopped keeps the order, whatever the clock "
    "says") {
  SnowflakeHost host;
  SnowflakeOptions options = host.snowflake();
  options.worker.window = 20ms;
  const auto generator = [&] { return std::make_unique<SnowflakeGenerator>(host.store_options(), options); };
  const auto ids = draw(*generator(), 1000);
  host.clock.set_back(1500ms);
  const fs::path file = leaf::test::state_file_in(host.run);
  {
    const leaf::test::HeldLock stopped(file);
    // Both windows are over, so the next one has to be fetched.
    host.clock.advance(1s);
    const std::int64_t id = draw(*generator(), 100'000).front();
    CHECK(leaf::Layout::parse("leaf").worker_of(id) == 1);
    CHECK(id > ids.back());
  }
  // Once the order is given up, the clock decides again.
  host.clock.set_back(1s);
  leaf::drop_host_windows_ahead(host.open().identity(), host.host_options(), "here", {}, 0ms, 1s, host.clock);
  CHECK(generator()->next() < ids.back());
}

TEST_CASE("host windows: those that are over are not kept from others for a process that has stopped") {
  SnowflakeHost host;
  SnowflakeOptions options = host.snowflake();
  options.worker.window = 20ms;
  const auto generator = [&] { return std::make_unique<SnowflakeGenerator>(host.store_options(), options); };
  const std::int64_t before = generator()->next();
  const leaf::test::HeldLock stopped(leaf::test::state_file_in(host.run));
  host.clock.advance(500ms);
  const auto begin = host.clock.steady_now();
  CHECK(generator()->next() > before);
  CHECK(host.clock.steady_now() - begin < 3s);
}

TEST_CASE(
    "host windows: who is refused the last worker draws from what another process was leased meanwhile") {
  SnowflakeHost host;
  host.open().set_worker_range(leaf::WorkerRange{0, 0});
  std::optional<SnowflakeGenerator> faster;
  leaf::StoreOptions store = host.store_options();
  // While the slow one fetches, the other does so too, as where the first was stopped for long.
  store.while_asked = [&]() -> std::shared_ptr<void> {
    for (const auto& file : fs::directory_iterator(host.run)) {
      if (faster || !file.path().filename().string().starts_with("worker-")) continue;
      fs::remove(file);
      faster.emplace(host.store_options(), host.snowflake());
      break;
    }
    return nullptr;
  };
  SnowflakeGenerator slow(store, host.snowflake());
  REQUIRE(faster);
  CHECK(strictly_increasing({faster->next(), slow.next(), faster->next()}));
}

TEST_CASE("host windows: a pinned worker's file stays where a process has stopped that holds the worker") {
  SnowflakeHost host;
  SnowflakeOptions options = host.snowflake("here", 7);
  options.worker.window = 20ms;
  const auto draw_one = [&] { SnowflakeGenerator(host.store_options(), options).next(); };
  draw_one();
  const fs::path file = leaf::test::state_file_in(host.run);
  const auto inode = [&] {
    struct stat found {};
    REQUIRE(stat(file.c_str(), &found) == 0);
    return found.st_ino;
  };
  const ino_t before = inode();
  {
    const leaf::test::HeldLock stopped(file);
    host.clock.advance(500ms);
    CHECK(error_code(draw_one) == ErrorCode::unavailable);
    CHECK(inode() == before);
  }
  CHECK_NOTHROW(draw_one());
}

TEST_CASE("host windows: what follows a stopped process begins in no unit of time that was drawn from") {
  SnowflakeHost host;
  // The worker has the last bits: whatever it is, the order is that of the sequence.
  const auto layout = leaf::Layout::parse("time:39,sequence:8,machine:16/10ms@1409529600000");
  host.open().set_layout(layout);
  SnowflakeOptions options = host.snowflake();
  options.worker.window = 20ms;
  const auto generator = [&] { return std::make_unique<SnowflakeGenerator>(host.store_options(), options); };
  std::int64_t last = generator()->next();
  const UnixTime end = host.buffers().at(0).window_end;
  while (layout.time_of(last) + layout.unit() < end || layout.sequence_of(last) < layout.max_sequence())
    last = generator()->next();
  host.clock.set_back(1500ms);
  const leaf::test::HeldLock stopped(leaf::test::state_file_in(host.run));
  host.clock.advance(1s);
  CHECK(generator()->next() > last);
}

TEST_CASE(
    "host windows: a thread that draws one after the other takes no place of another file for its own") {
  SnowflakeHost host;
  SnowflakeGenerator running = host.generator();
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 500; ++i) ids.push_back(running.next());
  fs::remove(leaf::test::state_file_in(host.run));
  // By a thread of its own, as by another process. Time stands still.
  std::thread([&] {
    SnowflakeGenerator other = host.generator();
    for (int i = 0; i < 150; ++i) ids.push_back(other.next());
  }).join();
  running.fetch();
  for (int i = 0; i < 50; ++i) ids.push_back(running.next());
  CHECK(std::set(ids.begin(), ids.end()).size() == ids.size());
}

TEST_CASE("host windows: a lease that was noted but not published is not taken to begin before it did") {
  SnowflakeHost host;
  const auto file = [&] { return leaf::test::state_file_in(host.run); };
  host.generator().next();
  const std::string before = leaf::test::read_bytes(file());
  leaf::Store admin(host.store_options());
  const auto lease = [&](const std::string& owner, std::optional<std::int64_t> worker) {
    leaf::WorkerRequest request;
    request.owner = owner;
    request.worker = worker;
    request.window = 1h;
    return admin.acquire_worker(request);
  };
  const leaf::UnixTime others_end = lease("other", 1).end;
  admin.recycle_worker(1, true);
  admin.recycle_worker(0, true);
  host.clock.advance(1h + 1s);
  lease("third", 0);
  REQUIRE(leaf::Layout::parse("leaf").worker_of(host.generator().next()) == 1);
  // As it was when that window was noted: the buffer is still the one before.
  std::string bytes = leaf::test::read_bytes(file());
  constexpr std::size_t begin = offsetof(leaf::host::SharedState, buffer);
  constexpr std::size_t length = offsetof(leaf::host::SharedState, origin) - begin;
  bytes.replace(begin, length, before, begin, length);
  leaf::test::write_bytes(file(), bytes);
  host.clock.set_back(1500ms);
  const std::int64_t id = host.generator().next();
  CHECK(leaf::Layout::parse("leaf").worker_of(id) == 1);
  CHECK(leaf::Layout::parse("leaf").time_of(id) >= others_end);
}

TEST_CASE("host windows: a store of another layout in the place of the first is used by those who come") {
  SnowflakeHost host;
  SnowflakeGenerator old = host.generator();
  const std::int64_t first = old.next();
  for (const char* end : {"", "-wal", "-shm"}) fs::remove(host.store.path() + end);
  leaf::Store admin(host.store_options());
  admin.migrate();
  admin.set_layout(leaf::Layout::parse("sonyflake"));
  SnowflakeGenerator anew = host.generator();
  CHECK(anew.layout().name() == "sonyflake");
  CHECK(anew.layout().time_of(anew.next()) <= host.clock.now() + anew.layout().unit());
  CHECK(old.next() > first);  // its window is the first store's
  host.clock.advance(11min);
  CHECK(error_code([&] { old.next(); }) == ErrorCode::refused);
  CHECK_NOTHROW(host.generator().next());  // as the hint says
}

TEST_CASE("host windows: a damaged file is named among the buffers, and the others are listed all the same") {
  SnowflakeHost host;
  host.generator().next();
  const auto file = leaf::test::state_file_in(host.run);
  std::string bytes = leaf::test::read_bytes(file);
  const std::size_t layout = bytes.find("time:41");
  REQUIRE(layout != std::string::npos);
  bytes[layout] = '?';
  leaf::test::write_bytes(file, bytes);
  const auto buffers = host.buffers();
  REQUIRE(buffers.size() == 1);
  CHECK(buffers[0].kind == leaf::HostBuffer::Kind::worker);
  CHECK_FALSE(buffers[0].in_use);
  CHECK(buffers[0].damaged);
  CHECK(buffers[0].failure == "file '" + file.string() + "' is damaged");
}

TEST_CASE(
    "host windows: what a clock far ahead leaves in the buffer is given up once the worker is released") {
  SnowflakeHost host;
  const auto layout = leaf::Layout::parse("leaf");
  constexpr auto far = 400 * 24h;
  const auto give_up = [&] {
    leaf::Store(host.store_options()).release_workers("here");
    return host.drop_ahead();
  };
  SnowflakeGenerator running = host.generator();
  std::set<std::int64_t> ids{running.next()};
  std::int64_t last = *ids.begin();

  SUBCASE("the window in use") {
    host.clock.set_back(-far);
    ids.insert(host.generator().next());
    host.clock.set_back(far);
  }
  SUBCASE("the next one") {
    host.clock.advance(6min);
    ids.insert(running.next());
    host.clock.set_back(-far);
    host.generator().fetch();
    host.clock.set_back(far);
    last = running.next();  // what was leased by the right clock serves to its end
    CHECK(ids.insert(last).second);
    host.clock.advance(5min);
  }
  bool is_used_up = false;
  SUBCASE("one that is used up") {
    is_used_up = true;
    host.clock.set_back(-far);
    SnowflakeOptions options = host.snowflake();
    options.worker.window = 20ms;
    SnowflakeGenerator ahead(host.store_options(), options);
    std::int64_t id = 0;
    do {
      id = ahead.next();
      ids.insert(id);
    } while (layout.time_of(id) + layout.unit() < host.buffers().at(0).window_end ||
             layout.sequence_of(id) < layout.max_sequence());
    host.clock.set_back(far);
  }
  const std::string refusal = error_text([&] { running.next(); });
  if (is_used_up) {
    CHECK(refusal.starts_with("the clock is 400d behind what is buffered for 'here' | "));
  } else {
    CHECK(refusal.starts_with("this host's clock (20"));
    CHECK(refusal.find("d behind the last ID's (20") != std::string::npos);
  }
  CHECK(refusal.ends_with("if it is right already, release the owner's workers to go on"));
  CHECK(proposes(error_of([&] { running.next(); }),
                 {.kind = leaf::Remedy::Kind::release_workers, .name = "here"}));
  CHECK(error_code([&] { host.generator().next(); }) == ErrorCode::refused);
  CHECK(host.workers().size() == 1);
  SnowflakeGenerator other(host.store_options(), host.snowflake("there"));
  CHECK(ids.insert(other.next()).second);
  const auto end = host.workers().at(0).window_end;

  CHECK(give_up() == 1);
  std::vector<std::int64_t> after{running.next()};
  for (int i = 0; i < 10; ++i) after.push_back(host.generator().next());
  CHECK(strictly_increasing(after));
  CHECK(after.front() > last);
  CHECK(layout.time_of(after.back()) == std::chrono::floor<std::chrono::milliseconds>(host.clock.now()));
  for (const std::int64_t id : after) CHECK(ids.insert(id).second);
  CHECK(host.workers().at(0).window_end == end);
  CHECK(give_up() == 0);
  CHECK(running.next() > after.back());
  CHECK(ids.insert(other.next()).second);
}

TEST_CASE(
    "host windows: a worker that is released while the clock is right keeps its window, and the order") {
  SnowflakeHost host;
  SnowflakeGenerator generator = host.generator();
  std::vector<std::int64_t> ids{generator.next()};
  host.clock.advance(6min);
  ids.push_back(generator.next());
  generator.fetch();
  host.clock.set_back(1s);
  leaf::Store(host.store_options()).release_workers("here");
  CHECK(host.drop_ahead() == 0);
  for (int i = 0; i < 40; ++i) {
    ids.push_back(host.generator().next());
    host.clock.advance(1min);
  }
  CHECK(strictly_increasing(ids));
}

TEST_CASE("host windows: one is ahead of the clock once it refuses to be drawn from, and no sooner") {
  SnowflakeHost host;
  host.generator().next();
  host.clock.set_back(host.snowflake().max_backward);
  CHECK(host.drop_ahead() == 0);
  host.generator().next();
  host.clock.set_back(1ms);
  CHECK(error_code([&] { host.generator().next(); }) == ErrorCode::refused);
  CHECK(host.drop_ahead() == 1);
}

TEST_CASE("host windows: one that begins with the next unit of time is not ahead of the clock") {
  SnowflakeHost host;
  const auto layout = leaf::Layout::parse("time:39,sequence:8,machine:16/10s@1409529600000");
  host.open().set_layout(layout);
  const auto since_begin =
      std::chrono::floor<std::chrono::milliseconds>(host.clock.now() - layout.epoch()) % layout.unit();
  host.clock.advance(layout.unit() - since_begin + layout.unit() / 2);
  host.generator().fetch();
  REQUIRE(host.buffers().at(0).in_use);
  CHECK(host.drop_ahead() == 0);
}

TEST_CASE("host windows: only what is asked for is given up: by store, owner and worker") {
  SnowflakeHost host;
  const SqliteStore another;
  host.clock.set_back(-400 * 24h);
  for (const auto& options : {host.snowflake(), host.snowflake("there"), host.snowflake("here", 7)})
    SnowflakeGenerator(host.store_options(), options).next();
  host.clock.set_back(400 * 24h);
  leaf::Store admin = host.open();
  leaf::test::add_tag(admin, "here", 10);  // another thing of that name
  leaf::SegmentAllocator(host.store_options(), {.host = host.host_options()})
      .tag(leaf::TagName("here"))
      .next();
  const auto drop = [&](const std::string& url, const std::string& owner,
                        std::optional<std::int64_t> worker) {
    return leaf::drop_host_windows_ahead(leaf::Store({.url = url}).identity(), *host.snowflake().host, owner,
                                         worker, 2s, 1s, host.clock);
  };
  const std::string url = host.store.options().url;
  CHECK(drop(another.options().url, "here", {}) == 0);
  CHECK(drop(url, "nobody", {}) == 0);
  CHECK(drop(url, "here", 5) == 0);
  CHECK(host.buffers().size() == 4);
  CHECK(drop(url, "here", 7) == 1);
  CHECK(drop(url, "here", {}) == 1);
  const auto left = host.buffers();
  REQUIRE(left.size() == 2);
  CHECK(left[0].kind == leaf::HostBuffer::Kind::tag);
  CHECK(left[1].name == "there");
}
