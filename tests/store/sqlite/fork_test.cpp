#include <doctest/doctest.h>
#include <poll.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/segment.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/is_asleep.hpp"
#include "support/sanitized.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"
#include "support/wait_for.hpp"

using namespace std::chrono_literals;
using leaf::Store;
using leaf::TagName;
using leaf::test::SqliteStore;

namespace {

leaf::StoreOptions patient(const SqliteStore& store) {
  leaf::StoreOptions options = store.options();  // SQLite's lock has no queue
  options.timeout = 60s;
  return options;
}

/// IDs that children send through a pipe.
class Ids {
 public:
  Ids() { REQUIRE(pipe(ends_) == 0); }
  ~Ids() {
    for (const int end : ends_) close(end);
  }
  Ids(const Ids&) = delete;
  Ids& operator=(const Ids&) = delete;

  bool send(std::int64_t id) const { return write(ends_[1], &id, sizeof id) == sizeof id; }
  std::int64_t receive() const {
    std::int64_t id = -1;
    CHECK(read(ends_[0], &id, sizeof id) == sizeof id);
    return id;
  }

 private:
  int ends_[2];
};

/// A child's end: its exit status, or -1 if it had to be killed.
int end_of(pid_t child) {
  int status = 0;
  const bool ended = leaf::test::wait_for([&] { return waitpid(child, &status, WNOHANG) == child; });
  if (!ended) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Forks a child that runs `work()` to its end and leaves without any destructor of the parent's.
template <typename Work>
pid_t fork_child(Work work) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    _exit(work() ? 0 : 2);
  } catch (...) {
    _exit(1);
  }
}

/// Another process that reads, and so lets nobody commit.
class Reader {
 public:
  explicit Reader(const std::string& path) {
    REQUIRE(pipe(to_child_) == 0);
    REQUIRE(pipe(from_child_) == 0);
    child_ = fork_child([&] {
      char sign = 0;
      leaf::test::SqliteSession session(path);
      const bool reads = session.run("BEGIN; SELECT * FROM leaf_alloc");
      return reads && write(from_child_[1], &sign, 1) == 1 && read(to_child_[0], &sign, 1) == 1 &&
             session.run("COMMIT");
    });
    REQUIRE(child_ > 0);
    char sign = 0;
    REQUIRE(read(from_child_[0], &sign, 1) == 1);
  }
  ~Reader() {
    end();
    for (const int end : {to_child_[0], to_child_[1], from_child_[0], from_child_[1]}) close(end);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void end() {
    if (child_ == 0) return;
    CHECK(write(to_child_[1], "", 1) == 1);
    CHECK(end_of(child_) == 0);
    child_ = 0;
  }

 private:
  int to_child_[2];
  int from_child_[2];
  pid_t child_ = 0;
};

/// True once somebody has written all that a commit takes, and waits for those who read.
bool has_journal(const SqliteStore& store) {
  std::error_code none;
  const auto size = std::filesystem::file_size(store.path() + "-journal", none);
  return !none && size > 0;
}

}  // namespace

TEST_CASE("fork: children make allocators of their own while threads of the parent are inside of SQLite" *
          doctest::skip(leaf::test::children_start_no_threads)) {
  constexpr int children = 100, ids_each = 3, threads = 3;
  SqliteStore store("/dev/shm");  // where a commit takes no time, and SQLite's own work all of it
  Store admin = store.open();
  leaf::test::add_tag(admin, "order", 2);
  std::mutex mutex;
  std::vector<std::int64_t> ids;
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  const Ids from_children;
  {
    std::vector<std::jthread> parents;
    for (int i = 0; i < threads; ++i) {
      parents.emplace_back([&] {
        try {
          Store own(patient(store));
          while (!stop) {
            const std::int64_t id = own.grant(TagName("order"), 1).range.lo;
            const std::lock_guard lock(mutex);
            ids.push_back(id);
          }
        } catch (const std::exception&) {
          ++failed;
        }
      });
    }
    CHECK(leaf::test::wait_for([&] {
      const std::lock_guard lock(mutex);
      return ids.size() > 10;
    }));
    int good = 0;
    for (int i = 0; i < children; ++i) {
      const pid_t child = fork_child([&] {
        leaf::SegmentOptions options;
        options.timeout = 60s;
        auto allocator = std::make_unique<leaf::SegmentAllocator>(patient(store), options);
        leaf::SegmentTag tag = allocator->tag(TagName("order"));
        for (int n = 0; n < ids_each; ++n) {
          if (!from_children.send(tag.next())) return false;
        }
        allocator.reset();
        return true;
      });
      REQUIRE(child > 0);
      const int status = end_of(child);
      CHECK(status == 0);
      if (status != 0) break;
      ++good;
    }
    stop = true;
    for (int n = 0; n < good * ids_each; ++n) {
      const std::int64_t id = from_children.receive();
      const std::lock_guard lock(mutex);
      ids.push_back(id);
    }
  }
  CHECK(failed == 0);
  std::ranges::sort(ids);
  CHECK(std::ranges::adjacent_find(ids) == ids.end());
}

TEST_CASE("fork: a thread that waits at its commit keeps neither the parent nor the child waiting") {
  SqliteStore store;
  Store admin = store.open();
  leaf::test::add_tag(admin, "order", 1);
  Reader reader(store.path());
  std::atomic<std::int64_t> granted{0};
  std::jthread waiting([&] { granted = Store(patient(store)).grant(TagName("order"), 1).range.lo; });
  REQUIRE(leaf::test::wait_for([&] { return has_journal(store); }));
  const Ids ids;
  const pid_t child =
      fork_child([&] { return ids.send(Store(patient(store)).grant(TagName("order"), 1).range.lo); });
  REQUIRE(child > 0);
  CHECK(granted == 0);
  reader.end();
  waiting.join();
  REQUIRE(end_of(child) == 0);
  CHECK(granted + ids.receive() == 1 + 2);
}

TEST_CASE("fork: a connection that has made way for one tells of what fails later") {
  SqliteStore store;
  Store admin = store.open();
  leaf::test::add_tag(admin, "order", 1);
  const TagName order("order");
  Store patient_store(patient(store));
  {
    Reader reader(store.path());
    std::jthread waiting([&] { patient_store.grant(order, 1); });
    REQUIRE(leaf::test::wait_for([&] { return has_journal(store); }));
    const pid_t child = fork_child([] { return true; });
    reader.end();
    REQUIRE(end_of(child) == 0);
  }
  // It fails once: whoever asks again meanwhile finds out nothing.
  REQUIRE(
      leaf::test::SqliteSession(store.path())
          .run("CREATE TABLE asked (x); CREATE TRIGGER struck BEFORE UPDATE ON leaf_alloc BEGIN INSERT INTO"
               " asked VALUES (1); SELECT RAISE(FAIL, 'struck') WHERE (SELECT count(*) FROM asked) = 1; "
               "END"));
  CHECK(leaf::test::error_code([&] { patient_store.grant(order, 1); }) == leaf::ErrorCode::refused);
  CHECK(patient_store.grant(order, 1).range.lo == 2);
}

TEST_CASE("fork: children that use and close the store that they inherit leave their parent's alone") {
  SqliteStore store;
  Store admin = store.open();
  leaf::test::add_tag(admin, "order", 1);
  const Ids ids;
  CHECK(admin.grant(TagName("order"), 1).range.lo == 1);
  auto inherited = std::make_unique<Store>(store.open());
  CHECK(inherited->grant(TagName("order"), 1).range.lo == 2);
  // Both inherit the state of SQLite's random numbers, which incarnations are made of.
  std::vector<pid_t> children;
  for (const char* name : {"a", "b"}) {
    children.push_back(fork_child([&] {
      if (!ids.send(inherited->grant(TagName("order"), 1).range.lo)) return false;
      leaf::test::add_tag(*inherited, name, 1);
      inherited.reset();
      return true;
    }));
    REQUIRE(children.back() > 0);
  }
  for (const pid_t child : children) REQUIRE(end_of(child) == 0);
  CHECK(ids.receive() + ids.receive() == 3 + 4);
  CHECK(inherited->grant(TagName("order"), 1).range.lo == 5);
  CHECK(admin.tag(TagName("a")).incarnation != admin.tag(TagName("b")).incarnation);
}

namespace {

sqlite3_vfs* usual_files = nullptr;
const sqlite3_io_methods* usual_methods = nullptr;
sqlite3_io_methods watched_methods;
std::function<void()> at_close;

int open_watched(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* flags_got) {
  const int result = usual_files->xOpen(usual_files, path, file, flags, flags_got);
  if (result != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0) return result;
  usual_methods = file->pMethods;
  watched_methods = *usual_methods;
  watched_methods.xClose = [](sqlite3_file* closing) {
    if (const auto happens = std::exchange(at_close, nullptr)) happens();
    return usual_methods->xClose(closing);
  };
  file->pMethods = &watched_methods;
  return result;
}

/// While it lives, files that SQLite opens have `at_close` happen once.
class WatchedFiles {
 public:
  WatchedFiles() {
    usual_files = sqlite3_vfs_find("unix");
    watched_ = *usual_files;
    watched_.xOpen = &open_watched;
    REQUIRE(sqlite3_vfs_register(&watched_, 1) == SQLITE_OK);
  }
  ~WatchedFiles() { sqlite3_vfs_unregister(&watched_); }
  WatchedFiles(const WatchedFiles&) = delete;
  WatchedFiles& operator=(const WatchedFiles&) = delete;

 private:
  sqlite3_vfs watched_{};  // of the same name
};

}  // namespace

TEST_CASE("fork: nobody forks while a connection closes" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  const SqliteStore store;
  const WatchedFiles watched;
  std::atomic<pid_t> thread{0};
  std::atomic<bool> has_forked{false};
  std::jthread other;
  at_close = [&] {
    other = std::jthread([&] {
      thread = gettid();
      const pid_t child = fork_child([] { return true; });
      has_forked = true;
      CHECK(end_of(child) == 0);
    });
    CHECK(leaf::test::wait_for([&] { return has_forked || (thread != 0 && leaf::test::is_asleep(thread)); }));
    CHECK_FALSE(has_forked);
  };
  CHECK(store.open().tags().empty());
  REQUIRE(other.joinable());
  other.join();
  CHECK(has_forked);
}

namespace {

int forked = -1;

void fork_in_handler(int) {
  const int error = errno;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  static_cast<void>(write(forked, "x", 1) == 1);
  errno = error;
}

}  // namespace

TEST_CASE("fork: a signal handler that forks goes on, where it interrupts a call that waits" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  const SqliteStore store;
  {
    Store admin = store.open();
    leaf::test::add_tag(admin, "order", 1);
  }
  Reader reader(store.path());
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  forked = ends[1];
  std::signal(SIGUSR1, fork_in_handler);
  const pid_t child =
      fork_child([&] { return Store(patient(store)).grant(TagName("order"), 1).range.lo == 1; });
  std::signal(SIGUSR1, SIG_DFL);
  // It waits for the reader, and not in malloc(), whose lock fork() takes.
  for (int i = 0; i < 20; ++i) {
    REQUIRE(leaf::test::wait_for([&] { return leaf::test::is_asleep(child); }));
    REQUIRE(kill(child, SIGUSR1) == 0);
    pollfd ready{.fd = ends[0], .events = POLLIN, .revents = 0};
    char sign = 0;
    REQUIRE(poll(&ready, 1, 20'000) == 1);
    REQUIRE(read(ends[0], &sign, 1) == 1);
  }
  reader.end();
  CHECK(end_of(child) == 0);
  for (const int end : ends) close(end);
}

TEST_CASE("fork: two threads that fork at once, and a child that forks, do not hang") {
  SqliteStore store;
  Store admin = store.open();
  leaf::test::add_tag(admin, "order", 1);
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 10; ++n) {
          const pid_t child = fork_child([&] {
            const pid_t grandchild = fork_child(
                [&] { return Store(patient(store)).grant(TagName("order"), 1).range.size() == 1; });
            return end_of(grandchild) == 0 &&
                   Store(patient(store)).grant(TagName("order"), 1).range.size() == 1;
          });
          if (child > 0 && end_of(child) == 0) ++good;
        }
      });
    }
  }
  CHECK(good == 20);
  CHECK(admin.tag(TagName("order")).next_id == 41);
}
