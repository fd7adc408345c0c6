#include "host/state_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "host/state_patch.hpp"
#include "leaf/error.hpp"
#include "support/error_of.hpp"
#include "support/is_asleep.hpp"
#include "support/number_of_parent.hpp"
#include "support/sanitized.hpp"
#include "support/sqlite_store.hpp"
#include "support/wait_for.hpp"

namespace fs = std::filesystem;
using leaf::ErrorCode;
using leaf::host::FileHeader;
using leaf::host::FileKey;
using leaf::host::FileKind;
using leaf::host::Folder;
using leaf::host::StateFile;
using leaf::test::error_code;
using leaf::test::error_text;
using leaf::test::is_asleep;
using leaf::test::patch_header;
using leaf::test::read_bytes;
using leaf::test::wait_for;
using leaf::test::write_bytes;

namespace {

/// A folder of host state, and a tag's file in it that holds IDs.
struct StateFileFixture {
  StateFileFixture() { first->state().buffer.publish({100, 200}, 10); }

  std::shared_ptr<StateFile> open() const { return StateFile::open(folder, key); }
  std::shared_ptr<StateFile> find() const { return StateFile::find(folder, key.file_name()); }
  bool is_found() const { return find() != nullptr; }
  /// True if what `path` leads to is not believed, and a new file without IDs takes its place.
  bool is_discarded() const {
    if (is_found()) return false;
    const auto anew = open();
    return anew->state().buffer.published_end() == 0 && anew->is_current(folder) && is_found();
  }

  /// What the file is called while somebody takes it from its holder.
  fs::path taken() const { return path.string() + ".taken"; }

  leaf::test::TemporaryFolder home;
  Folder folder = Folder::open({.folder = home.path() / "run"});
  FileKey key{.kind = FileKind::tag,
              .name = "order",
              .key = "order",
              .shown_store = "sqlite:/a",
              .identity = {.deployment = "d", .copy = "c"}};
  fs::path path = home.path() / "run" / key.file_name();
  std::shared_ptr<StateFile> first = open();
};

template <std::size_t size>
void set_text(char (&to)[size], const std::string& text) {
  std::fill(std::begin(to), std::end(to), '\0');
  text.copy(to, size - 1);
}

/// What happens before this thread locks a file, once.
thread_local std::function<void()> before_lock;

/// A thread that forks in the middle of something, or waits until it may.
class ForkMeanwhile {
 public:
  /// Returns once it has forked, or waits. The child does nothing else than `in_child`.
  void begin(std::function<void()> in_child = [] {}) {
    thread_ = std::thread([this, in_child] {
      forker_ = gettid();
      const pid_t forked = fork();
      if (forked == 0) {
        alarm(20);
        in_child();
        for (;;) pause();
      }
      child_ = forked;
    });
    CHECK(wait_for([&] { return child_ != 0 || (forker_ != 0 && is_asleep(forker_)); }));
  }
  bool has_begun() const { return thread_.joinable(); }
  /// Once it has forked.
  pid_t child() {
    thread_.join();
    return child_;
  }

 private:
  std::atomic<pid_t> forker_{0}, child_{0};
  std::thread thread_;
};

ino_t inode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

}  // namespace

// The linker leads fcntl() here.
extern "C" {
int __real_fcntl(int descriptor, int command, ...);
int __wrap_fcntl(int descriptor, int command, ...);

int __wrap_fcntl(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (command == F_OFD_SETLK) {
    if (const auto first = std::exchange(before_lock, nullptr)) first();
  }
  return __real_fcntl(descriptor, command, argument);
}
}

TEST_CASE("state file: who gives up rights after opening the folder is not told to remove a file") {
  if (geteuid() != 0) return;
  StateFileFixture fixture;
  REQUIRE(seteuid(65501) == 0);
  const std::string text = error_text([&] { fixture.open(); });
  REQUIRE(seteuid(0) == 0);
  CHECK(text.find("folder '" + fixture.folder.path() + "' is closed to the user") != std::string::npos);
  CHECK(text.find("remove it") == std::string::npos);
}

TEST_CASE("state file: whoever opens it again maps the same memory") {
  StateFileFixture fixture;
  const auto again = fixture.open();
  CHECK(again->state().buffer.take(5).range == leaf::Range{100, 105});
  CHECK(fixture.first->state().buffer.take(1).range == leaf::Range{105, 106});
}

TEST_CASE(
    "state file: one of another boot, device, inode or birth is discarded though its checksum is right") {
  StateFileFixture fixture;
  SUBCASE("boot") {
    patch_header(fixture.path, [](FileHeader& header) { header.boot[0] ^= 1; });
  }
  SUBCASE("no boot") {
    patch_header(fixture.path, [](FileHeader& header) { header.boot[0] = '\0'; });
  }
  SUBCASE("device") {
    patch_header(fixture.path, [](FileHeader& header) { ++header.device; });
  }
  SUBCASE("inode") {
    patch_header(fixture.path, [](FileHeader& header) { ++header.inode; });
  }
  SUBCASE("birth") {
    patch_header(fixture.path, [](FileHeader& header) { ++header.birth_ns; });
  }
  SUBCASE("birth, within the same second") {
    patch_header(fixture.path,
                 [](FileHeader& header) { header.birth_ns -= header.birth_ns % 1'000'000'000; });
  }
  CHECK(fixture.is_discarded());
  CHECK_FALSE(fixture.first->is_current(fixture.folder));
}

TEST_CASE("state file: a patch that changes nothing keeps it, so that the patches above are what tells") {
  StateFileFixture fixture;
  patch_header(fixture.path, [](FileHeader&) {});
  CHECK(fixture.is_found());
}

TEST_CASE("state file: one of another kind, store or tag that has its name by chance is discarded") {
  StateFileFixture fixture;
  SUBCASE("kind") {
    patch_header(fixture.path, [](FileHeader& header) { header.kind = FileKind::worker; });
  }
  SUBCASE("deployment") {
    patch_header(fixture.path, [](FileHeader& header) { set_text(header.deployment, "other"); });
  }
  SUBCASE("copy") {
    patch_header(fixture.path, [](FileHeader& header) { set_text(header.copy, "other"); });
  }
  SUBCASE("tag") {
    patch_header(fixture.path, [](FileHeader& header) { set_text(header.name, "other"); });
  }
  CHECK(fixture.open()->state().buffer.published_end() == 0);
}

TEST_CASE("state file: who asks whether another's may go holds its lock meanwhile, and may have it stay") {
  StateFileFixture fixture;
  // Its name does not tell which store it is about.
  FileKey key = fixture.key;
  key.kind = FileKind::store_name;
  const auto first = StateFile::open(fixture.folder, key);
  key.identity.copy = "another";
  bool may_go = false, is_free = true;
  const auto open = [&] {
    return StateFile::open(fixture.folder, key, [&](StateFile& found) {
      CHECK(found.identity() == fixture.key.identity);
      is_free = found.try_lock(fixture.folder).has_value();
      return may_go;
    });
  };
  CHECK(open() == nullptr);
  CHECK_FALSE(is_free);
  CHECK(first->is_current(fixture.folder));
  may_go = true;
  const auto another = open();
  REQUIRE(another);
  CHECK(another->identity() == key.identity);
  CHECK_FALSE(first->is_current(fixture.folder));
  may_go = false;  // of its own nobody asks
  CHECK(open() != nullptr);
}

TEST_CASE("state file: who comes late to replace one leaves the file of who was faster, who is at it") {
  StateFileFixture fixture;
  // Their name does not tell which store they are about.
  const auto key_of = [&](const char* copy) {
    FileKey key = fixture.key;
    key.kind = FileKind::store_name;
    key.identity.copy = copy;
    return key;
  };
  StateFile::open(fixture.folder, key_of("a"));
  std::shared_ptr<StateFile> faster;
  std::optional<leaf::host::FetchLock> its_lock;
  before_lock = [&] {
    fs::remove(fixture.path.parent_path() / key_of("a").file_name());
    faster = StateFile::open(fixture.folder, key_of("b"));
    if (auto lock = faster->try_lock(fixture.folder)) its_lock.emplace(*std::move(lock));
  };
  CHECK(error_code([&] { StateFile::open(fixture.folder, key_of("c")); }) == ErrorCode::unavailable);
  CHECK(its_lock);
  CHECK(faster->is_current(fixture.folder));
}

TEST_CASE("state file: who replaces a damaged one waits for a turn, as who takes one from its holder does") {
  StateFileFixture fixture;
  std::string damaged = read_bytes(fixture.path);
  damaged[0] = static_cast<char>(damaged[0] ^ 1);
  write_bytes(fixture.path, damaged);
  {
    const leaf::host::Descriptor turn(open(fixture.path.parent_path().c_str(), O_RDONLY | O_DIRECTORY));
    REQUIRE(flock(turn.get(), LOCK_EX | LOCK_NB) == 0);
    CHECK(error_code([&] { StateFile::open(fixture.folder, fixture.key); }) == ErrorCode::unavailable);
    CHECK(read_bytes(fixture.path) == damaged);
  }
  CHECK(StateFile::open(fixture.folder, fixture.key));
  CHECK(read_bytes(fixture.path) != damaged);
}

TEST_CASE("state file: any single bit of what is constant that flips discards it") {
  StateFileFixture fixture;
  const std::string good = read_bytes(fixture.path).substr(0, sizeof(FileHeader));
  int believed = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    write_bytes(fixture.path, bad);
    believed += fixture.is_found();
  }
  CHECK(believed == 0);
  CHECK(fixture.is_discarded());
}

TEST_CASE(
    "state file: whoever has mapped one whose header is damaged gets no more of it once it is discarded") {
  StateFileFixture fixture;
  fixture.first->state().buffer.take(7);
  std::string bytes = read_bytes(fixture.path);
  bytes[offsetof(FileHeader, shown_store)] ^= 1;
  write_bytes(fixture.path, bytes);
  CHECK_FALSE(fixture.first->state().buffer.take(1).range.empty());
  CHECK(fixture.is_discarded());
  CHECK(fixture.first->state().buffer.take(1).range.empty());
}

TEST_CASE("state file: a copy of the folder is worth nothing, and the original still counts") {
  StateFileFixture fixture;
  fs::copy(fixture.home.path() / "run", fixture.home.path() / "copy");
  const Folder copy = Folder::open({.folder = fixture.home.path() / "copy"});
  REQUIRE(fs::exists(fixture.home.path() / "copy" / fixture.key.file_name()));
  CHECK(StateFile::find(copy, fixture.key.file_name()) == nullptr);
  CHECK(StateFile::open(copy, fixture.key)->state().buffer.published_end() == 0);
  CHECK(fixture.open()->state().buffer.published_end() == 200);
}

TEST_CASE(
    "state file: a copy under the same name, as from a backup, is discarded, also if it gets the same "
    "inode") {
  StateFileFixture fixture;
  bool was_the_same = false;
  for (int i = 0; i < 50 && !was_the_same; ++i) {
    const ino_t inode = inode_of(fixture.path);
    fs::copy(fixture.path, fixture.home.path() / "backup");
    fixture.first.reset();
    fs::remove(fixture.path);
    fs::copy(fixture.home.path() / "backup", fixture.path);
    was_the_same = inode_of(fixture.path) == inode;
    fs::remove(fixture.home.path() / "backup");
    CHECK_FALSE(fixture.is_found());
    fixture.first = fixture.open();
    fixture.first->state().buffer.publish({100, 200}, 10);
  }
  if (!was_the_same) MESSAGE("this file system gave no inode twice");
}

TEST_CASE("state file: what was cut, stretched or is no such file at all is discarded") {
  StateFileFixture fixture;
  SUBCASE("empty") {
    fs::resize_file(fixture.path, 0);
  }
  SUBCASE("cut") {
    fs::resize_file(fixture.path, leaf::host::state_size - 1);
  }
  SUBCASE("stretched") {
    fs::resize_file(fixture.path, leaf::host::state_size + 1);
  }
  SUBCASE("without space of its own") {
    fs::resize_file(fixture.path, 0);
    fs::resize_file(fixture.path, leaf::host::state_size);
  }
  SUBCASE("zeros") {
    write_bytes(fixture.path, std::string(leaf::host::state_size, '\0'));
  }
  SUBCASE("text") {
    write_bytes(fixture.path, std::string(leaf::host::state_size, 'x'));
  }
  CHECK(fixture.is_discarded());
}

TEST_CASE("state file: another version's lies beside it, and neither touches the other's") {
  StateFileFixture fixture;
  REQUIRE(fixture.key.file_name().ends_with(".v3"));
  fs::path other = fixture.path;
  other.replace_extension(".v5");
  fs::copy(fixture.path, other);
  const std::string before = read_bytes(other);
  fs::remove(fixture.path);
  CHECK(fixture.open()->state().buffer.published_end() == 0);
  CHECK(read_bytes(other) == before);
  CHECK(leaf::host::state_files(fixture.folder, {fixture.key.kind}) ==
        std::vector<std::string>{fixture.key.file_name()});
}

TEST_CASE("state file: one that says it is of another version is discarded") {
  StateFileFixture fixture;
  patch_header(fixture.path, [](FileHeader& header) { ++header.format; });
  CHECK(fixture.is_discarded());
}

TEST_CASE("state file: what somebody has put in its way is refused and left alone") {
  StateFileFixture fixture;
  const fs::path victim = fixture.home.path() / "victim";
  fs::rename(fixture.path, victim);
  const std::string before = read_bytes(victim);
  std::string says;
  SUBCASE("a symbolic link") {
    fs::create_symlink(victim, fixture.path);
    says = "is a symbolic link";
  }
  SUBCASE("a symbolic link to nothing") {
    fs::create_symlink(fixture.home.path() / "nothing", fixture.path);
    says = "is a symbolic link";
  }
  SUBCASE("a hard link") {
    fs::create_hard_link(victim, fixture.path);
    says = "has other names too";
  }
  SUBCASE("a folder") {
    fs::create_directory(fixture.path);
    says = "is a folder";
  }
  SUBCASE("a pipe") {
    REQUIRE(mkfifo(fixture.path.c_str(), 0600) == 0);
    says = "is no regular file";
  }
  CHECK(error_code([&] { fixture.open(); }) == ErrorCode::refused);
  CHECK(error_text([&] { fixture.open(); }).find(says) != std::string::npos);
  CHECK(error_code([&] { fixture.find(); }) == ErrorCode::refused);
  CHECK(fs::exists(fs::symlink_status(fixture.path)));
  CHECK(read_bytes(victim) == before);
  CHECK_FALSE(fs::exists(fixture.home.path() / "nothing"));
}

TEST_CASE("state file: other rights than its owner's alone are refused, whatever the umask was") {
  StateFileFixture fixture;
  for (const mode_t mode : {0644u, 0660u, 0602u, 0700u, 04600u}) {
    REQUIRE(chmod(fixture.path.c_str(), mode) == 0);
    CHECK_MESSAGE(error_code([&] { fixture.open(); }) == ErrorCode::refused, mode);
  }
  for (const mode_t mask : {0000u, 0022u, 0077u, 0777u}) {
    fs::remove(fixture.path);
    const mode_t before = umask(mask);
    const auto file = fixture.open();
    umask(before);
    CHECK(fs::status(fixture.path).permissions() == fs::perms(0600));
    CHECK(fixture.is_found());
  }
}

TEST_CASE("state file: one of another user is refused" * doctest::skip(geteuid() != 0)) {  // to give it away
  StateFileFixture fixture;
  constexpr uid_t nobody = 65534;
  REQUIRE(chown(fixture.path.c_str(), nobody, nobody) == 0);
  CHECK(error_text([&] { fixture.open(); }).find("belongs to another user") != std::string::npos);
}

TEST_CASE("state file: in a group's folder one of another group is refused" *
          doctest::skip(geteuid() != 0)) {  // to give it away
  StateFileFixture fixture;
  fixture.folder = Folder::open({.folder = fixture.home.path() / "shared", .group = true});
  const fs::path path = fixture.home.path() / "shared" / fixture.key.file_name();
  fixture.open();
  CHECK(fixture.is_found());
  REQUIRE(chown(path.c_str(), geteuid(), 65534) == 0);
  CHECK(error_code([&] { fixture.open(); }) == ErrorCode::refused);
}

TEST_CASE("state file: many that need it first at once all map the same one") {
  constexpr int processes = 24, rounds = 100;
  StateFileFixture fixture;
  for (int round = 0; round < rounds; ++round) {
    fs::remove(fixture.path);
    int pipe_ends[2], start[2];
    REQUIRE(pipe(pipe_ends) == 0);
    REQUIRE(pipe(start) == 0);
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      try {
        alarm(30);
        close(start[1]);
        char nothing = 0;
        if (read(start[0], &nothing, 1) != 0) _exit(3);  // ends when the parent starts all
        const auto file = fixture.open();
        const auto lock = file->try_lock(fixture.folder);
        if (lock && file->state().buffer.published_end() == 0) file->state().buffer.publish({1, 100}, 1);
        std::int64_t id = 0;
        const auto take = [&] { return (id = file->state().buffer.take(1).range.lo) != 0; };
        if (!leaf::test::wait_for(take, std::chrono::seconds(20))) _exit(4);
        _exit(write(pipe_ends[1], &id, sizeof id) == sizeof id ? 0 : 1);
      } catch (...) {
        _exit(2);
      }
    }
    close(start[0]);
    close(start[1]);
    for (const pid_t child : children) {
      int status = 0;
      REQUIRE(waitpid(child, &status, 0) == child);
      CHECK(status == 0);
    }
    std::set<std::int64_t> ids;
    close(pipe_ends[1]);
    for (int i = 0; i < processes; ++i) {
      std::int64_t id = 0;
      REQUIRE(read(pipe_ends[0], &id, sizeof id) == sizeof id);
      ids.insert(id);
    }
    close(pipe_ends[0]);
    CHECK(ids.size() == processes);
    CHECK(*ids.rbegin() == processes);
  }
}

TEST_CASE("state file: the lock is one for the host, also within a process") {
  StateFileFixture fixture;
  const auto again = fixture.open();
  {
    const auto lock = fixture.first->try_lock(fixture.folder);
    CHECK(lock);
    CHECK_FALSE(again->try_lock(fixture.folder));
    CHECK_FALSE(fixture.first->try_lock(fixture.folder));
  }
  CHECK(again->try_lock(fixture.folder));
}

TEST_CASE(
    "state file: the lock of a process that is killed is free, and a child does not keep its parent's") {
  StateFileFixture fixture;
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const auto lock = fixture.open()->try_lock(fixture.folder);
    const char answer = lock ? 'y' : 'n';
    if (write(pipe_ends[1], &answer, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char answer = 0;
  REQUIRE(read(pipe_ends[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  CHECK_FALSE(fixture.first->try_lock(fixture.folder));
  kill(holder, SIGSTOP);
  CHECK_FALSE(fixture.first->try_lock(fixture.folder));
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);

  pid_t child = 0;
  {
    const auto lock = fixture.first->try_lock(fixture.folder);
    CHECK(lock);
    child = _Fork();  // without handlers
    if (child == 0) {
      for (;;) pause();
    }
  }
  CHECK(fixture.first->try_lock(fixture.folder));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_CASE("state file: a child that outlives a fetch of its parent does not keep the lock") {
  StateFileFixture fixture;
  bool is_forked_before = false;
  SUBCASE("forked while it has the lock") {}
  SUBCASE("forked while it takes the lock") {
    is_forked_before = true;
  }
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t holder = fork();
  if (holder == 0) {
    alarm(20);
    ForkMeanwhile forking;
    // The child says so itself: it gives the lock up before its fork() returns.
    const auto say = [&](pid_t child) {
      if (write(pipe_ends[1], &child, sizeof child) != sizeof child) _exit(1);
    };
    const auto fork_one = [&] { forking.begin([&] { say(getpid()); }); };
    if (is_forked_before) before_lock = fork_one;
    const auto lock = fixture.open()->try_lock(fixture.folder);
    if (!lock) {
      say(-1);
    } else if (!is_forked_before) {
      fork_one();
    }
    for (;;) pause();
  }
  close(pipe_ends[1]);
  pid_t child = -1;
  REQUIRE(read(pipe_ends[0], &child, sizeof child) == sizeof child);
  REQUIRE(child > 0);
  CHECK_FALSE(fixture.first->try_lock(fixture.folder));
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  CHECK(fixture.first->try_lock(fixture.folder));
  kill(child, SIGKILL);
  close(pipe_ends[0]);
}

TEST_CASE("state file: the child of a child loses no descriptor to a lock of its grandparent") {
  StateFileFixture fixture;
  const auto lock = fixture.first->try_lock(fixture.folder);
  REQUIRE(lock);
  const pid_t child = fork();
  if (child == 0) {
    // The lock's number is free now, and one of these gets it.
    int own[64];
    for (int& descriptor : own) descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      for (const int descriptor : own) {
        if (fcntl(descriptor, F_GETFD) == -1) _exit(1);
      }
      _exit(0);
    }
    int status = -1;
    waitpid(grandchild, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("state file: a child that ends a lock of its parent closes nothing of its own") {
  StateFileFixture fixture;
  auto lock = fixture.first->try_lock(fixture.folder);
  REQUIRE(lock);
  std::optional<leaf::test::NumberOfParent> alike;
  SUBCASE("with a PID of its own") {}
  SUBCASE("with its parent's") {
    alike.emplace();
  }
  const pid_t child = fork();
  if (child == 0) {
    // The lock's number is free now, and one of these gets it.
    int own[64];
    for (int& descriptor : own) descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    lock.reset();
    for (const int descriptor : own) {
      if (fcntl(descriptor, F_GETFD) == -1) _exit(1);
    }
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("state file: a handler that forks while its thread lets nobody fork does not wait for itself" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const leaf::host::NoFork no_fork;  // here the signal comes
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(0);
    int status = -1;
    waitpid(grandchild, &status, 0);
    _exit(status == 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("state file: there is no lock of one that was removed or replaced, and what is in it can be used") {
  StateFileFixture fixture;
  fs::remove(fixture.path);
  CHECK_FALSE(fixture.first->is_current(fixture.folder));
  CHECK_FALSE(fixture.first->try_lock(fixture.folder));
  const auto another = fixture.open();
  CHECK_FALSE(fixture.first->is_current(fixture.folder));
  CHECK_FALSE(fixture.first->try_lock(fixture.folder));
  CHECK_FALSE(fixture.first->take_from_holder(fixture.folder, [](std::int64_t) {}));
  CHECK(another->try_lock(fixture.folder));
  CHECK(fixture.first->state().buffer.take(1).range == leaf::Range{100, 101});
  CHECK(inode_of(fixture.path) != 0);
}

TEST_CASE("state file: who takes one after somebody who died over it is told where the takers had come too") {
  StateFileFixture fixture;
  StateFile& file = *fixture.first;
  file.state().buffer.take(7);
  const auto dies = [](std::int64_t) { throw std::runtime_error("killed"); };
  CHECK_THROWS(file.take_from_holder(fixture.folder, dies));
  CHECK(fixture.is_found());
  const auto told = [&] {
    std::int64_t end = 0;
    CHECK(fixture.open()->take_from_holder(fixture.folder, [&](std::int64_t reached) { end = reached; }));
    CHECK_FALSE(fixture.is_found());
    return end;
  };
  SUBCASE("as it was") {
    CHECK(told() == 107);
  }
  SUBCASE("not what a flipped bit makes of it") {
    file.state().end_of_taken ^= std::int64_t{1} << 40;
    CHECK(told() == 0);
  }
}

TEST_CASE(
    "state file: of one that is taken from its holder nothing more comes, also where takers are at it") {
  StateFileFixture fixture;
  for (int i = 0; i < 50; ++i) {
    const auto file = fixture.open();
    auto& buffer = file->state().buffer;
    buffer.publish({1, 1 + std::int64_t{leaf::range::DoubleBuffer::max_size}}, 1);
    std::atomic<std::int64_t> last{0};
    std::atomic<bool> is_over{false};
    std::thread taker([&] {
      while (!is_over) {
        const leaf::Range taken = buffer.take(1).range;
        if (!taken.empty()) last = taken.lo;
      }
    });
    while (last < 1000) continue;
    std::int64_t told = 0;
    CHECK(file->take_from_holder(fixture.folder, [&](std::int64_t end) { told = end; }));
    CHECK(buffer.take(1).range.empty());
    is_over = true;
    taker.join();
    CHECK(last < told);
  }
}

TEST_CASE("state file: what a holder who wakes up puts into one that is being taken from it is not drawn") {
  StateFileFixture fixture;
  auto& buffer = fixture.first->state().buffer;
  buffer.take(7);
  bool is_awake = false;
  CHECK(fixture.first->take_from_holder(fixture.folder, [&](std::int64_t) {
    if (!std::exchange(is_awake, true)) buffer.publish({200, 300}, 10);
  }));
  CHECK(is_awake);
  CHECK(buffer.take(1).range.empty());
}

TEST_CASE("state file: one that is being taken has a name until it is closed") {
  StateFileFixture fixture;
  fixture.first->state().buffer.take(7);
  int calls = 0;
  CHECK(fixture.first->take_from_holder(fixture.folder, [&](std::int64_t) {
    const bool has_lost_its_name = ++calls > 1;
    CHECK(fixture.is_found() != has_lost_its_name);
    CHECK(fs::exists(fixture.taken()) == has_lost_its_name);
  }));
  CHECK(calls == 2);
  CHECK_FALSE(fs::exists(fixture.taken()));
}

TEST_CASE("state file: of two that were taken by ones who died over it the first one is closed too") {
  StateFileFixture fixture;
  fs::rename(fixture.path, fixture.taken());
  const auto second = fixture.open();
  second->state().buffer.publish({300, 400}, 10);
  CHECK(second->take_from_holder(fixture.folder, [](std::int64_t) {}));
  CHECK(fixture.first->state().buffer.take(1).range.empty());
  CHECK(second->state().buffer.take(1).range.empty());
}

TEST_CASE("state file: who closes what another has left removes nothing that a third one is taking") {
  StateFileFixture fixture;
  fixture.first->state().buffer.take(7);
  fs::rename(fixture.path, fixture.taken());
  const auto second = fixture.open();
  bool is_anothers = false;
  SUBCASE("and it alone") {}
  SUBCASE("who has taken the next one meanwhile") {
    is_anothers = true;
  }
  std::int64_t told = 0;
  second->finish_taking(fixture.folder, [&](std::int64_t end) {
    told = end;
    if (is_anothers) fs::rename(fixture.path, fixture.taken());
  });
  CHECK(told == 107);
  CHECK(fixture.first->state().buffer.take(1).range.empty());
  CHECK(fs::exists(fixture.taken()) == is_anothers);
}

TEST_CASE("state file: of two processes that take one at once, one leaves it to the other") {
  StateFileFixture fixture;
  fixture.first->state().buffer.take(7);
  int asks[2], answers[2];
  REQUIRE(pipe(asks) == 0);
  REQUIRE(pipe(answers) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto same = fixture.open();
    char took = 0;
    if (read(asks[0], &took, 1) != 1) _exit(1);
    took = same->take_from_holder(fixture.folder, [](std::int64_t) {}) ? 'y' : 'n';
    fixture.open();  // a new one, where the name is free
    _exit(write(answers[1], &took, 1) == 1 ? 0 : 1);
  }
  char took = 0;
  const auto let_the_child_try = [&](std::int64_t) {
    if (took != 0) return;
    REQUIRE(write(asks[1], "?", 1) == 1);
    REQUIRE(read(answers[0], &took, 1) == 1);
  };
  CHECK(fixture.first->take_from_holder(fixture.folder, let_the_child_try));
  CHECK(took == 'n');
  CHECK_FALSE(fixture.is_found());
  waitpid(child, nullptr, 0);
  for (const int end : {asks[0], asks[1], answers[0], answers[1]}) close(end);
}

TEST_CASE("state file: a child that is forked while one is taken keeps nobody from taking others") {
  StateFileFixture fixture;
  FileKey key = fixture.key;
  key.name = key.key = "another";
  const auto another = StateFile::open(fixture.folder, key);
  fixture.first->state().buffer.take(7);
  ForkMeanwhile forking;
  const auto fork_meanwhile = [&](std::int64_t) {
    if (!forking.has_begun()) forking.begin();
  };
  CHECK(fixture.first->take_from_holder(fixture.folder, fork_meanwhile));
  REQUIRE(forking.has_begun());
  const pid_t child = forking.child();
  CHECK(another->take_from_holder(fixture.folder, [](std::int64_t) {}));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("state file: one that does not count and whose lock is held is waited for, not taken away") {
  StateFileFixture fixture;
  const auto lock = fixture.first->try_lock(fixture.folder);
  REQUIRE(lock);
  patch_header(fixture.path, [](FileHeader& header) { header.boot[0] ^= 1; });
  const ino_t before = inode_of(fixture.path);
  CHECK(error_code([&] { fixture.open(); }) == ErrorCode::unavailable);
  CHECK(inode_of(fixture.path) == before);
}
