#include "host/state_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <vector>

#include "host/state_patch.hpp"
#include "leaf/error.hpp"
#include "support/error_of.hpp"
#include "support/sqlite_store.hpp"

namespace fs = std::filesystem;
using leaf::ErrorCode;
using leaf::host::FileHeader;
using leaf::host::FileKey;
using leaf::host::FileKind;
using leaf::host::Folder;
using leaf::host::StateFile;
using leaf::test::error_code;
using leaf::test::error_text;
using leaf::test::patch_header;
using leaf::test::read_bytes;
using leaf::test::write_bytes;

namespace {

/// A folder of host state, and a tag's file in it that holds IDs.
struct Bed {
  Bed() { first->state().buffer.publish({100, 200}, 10); }

  std::shared_ptr<StateFile> open() const { return StateFile::open(folder, key); }
  std::shared_ptr<StateFile> find() const { return StateFile::find(folder, key.file_name()); }
  bool is_found() const { return find() != nullptr; }
  /// True if what `path` leads to is not believed, and a new file without IDs takes its place.
  bool is_discarded() const {
    if (is_found()) return false;
    const auto anew = open();
    return anew->state().buffer.published_end() == 0 && anew->is_current(folder) && is_found();
  }

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

ino_t inode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

}  // namespace

TEST_CASE("state file: whoever opens it again maps the same memory") {
  Bed bed;
  const auto again = bed.open();
  CHECK(again->state().buffer.take(5).range == leaf::Range{100, 105});
  CHECK(bed.first->state().buffer.take(1).range == leaf::Range{105, 106});
}

TEST_CASE(
    "state file: one of another boot, device, inode or birth is discarded though its checksum is right") {
  Bed bed;
  SUBCASE("boot") {
    patch_header(bed.path, [](FileHeader& header) { header.boot[0] ^= 1; });
  }
  SUBCASE("no boot") {
    patch_header(bed.path, [](FileHeader& header) { header.boot[0] = '\0'; });
  }
  SUBCASE("device") {
    patch_header(bed.path, [](FileHeader& header) { ++header.device; });
  }
  SUBCASE("inode") {
    patch_header(bed.path, [](FileHeader& header) { ++header.inode; });
  }
  SUBCASE("birth") {
    patch_header(bed.path, [](FileHeader& header) { ++header.birth_ns; });
  }
  CHECK(bed.is_discarded());
  CHECK_FALSE(bed.first->is_current(bed.folder));
}

TEST_CASE("state file: a patch that changes nothing keeps it, so that the patches above are what tells") {
  Bed bed;
  patch_header(bed.path, [](FileHeader&) {});
  CHECK(bed.is_found());
}

TEST_CASE("state file: one of another kind, store or tag that has its name by chance is discarded") {
  Bed bed;
  SUBCASE("kind") {
    patch_header(bed.path, [](FileHeader& header) { header.kind = FileKind::worker; });
  }
  SUBCASE("deployment") {
    patch_header(bed.path, [](FileHeader& header) { set_text(header.deployment, "other"); });
  }
  SUBCASE("copy") {
    patch_header(bed.path, [](FileHeader& header) { set_text(header.copy, "other"); });
  }
  SUBCASE("tag") {
    patch_header(bed.path, [](FileHeader& header) { set_text(header.name, "other"); });
  }
  CHECK(bed.open()->state().buffer.published_end() == 0);
}

TEST_CASE("state file: any single bit of what is constant that flips discards it") {
  Bed bed;
  const std::string good = read_bytes(bed.path).substr(0, sizeof(FileHeader));
  int believed = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    write_bytes(bed.path, bad);
    believed += bed.is_found();
  }
  CHECK(believed == 0);
  CHECK(bed.is_discarded());
}

TEST_CASE("state file: a copy of the folder is worth nothing, and the original still counts") {
  Bed bed;
  fs::copy(bed.home.path() / "run", bed.home.path() / "copy");
  const Folder copy = Folder::open({.folder = bed.home.path() / "copy"});
  REQUIRE(fs::exists(bed.home.path() / "copy" / bed.key.file_name()));
  CHECK(StateFile::find(copy, bed.key.file_name()) == nullptr);
  CHECK(StateFile::open(copy, bed.key)->state().buffer.published_end() == 0);
  CHECK(bed.open()->state().buffer.published_end() == 200);
}

TEST_CASE(
    "state file: a copy under the same name, as from a backup, is discarded, also if it gets the same "
    "inode") {
  Bed bed;
  bool was_the_same = false;
  for (int i = 0; i < 50 && !was_the_same; ++i) {
    const ino_t inode = inode_of(bed.path);
    fs::copy(bed.path, bed.home.path() / "backup");
    bed.first.reset();
    fs::remove(bed.path);
    fs::copy(bed.home.path() / "backup", bed.path);
    was_the_same = inode_of(bed.path) == inode;
    fs::remove(bed.home.path() / "backup");
    CHECK_FALSE(bed.is_found());
    bed.first = bed.open();
    bed.first->state().buffer.publish({100, 200}, 10);
  }
  if (!was_the_same) MESSAGE("this file system gave no inode twice");
}

TEST_CASE("state file: what was cut, stretched or is no such file at all is discarded") {
  Bed bed;
  SUBCASE("empty") {
    fs::resize_file(bed.path, 0);
  }
  SUBCASE("cut") {
    fs::resize_file(bed.path, leaf::host::state_size - 1);
  }
  SUBCASE("stretched") {
    fs::resize_file(bed.path, leaf::host::state_size + 1);
  }
  SUBCASE("without space of its own") {
    fs::resize_file(bed.path, 0);
    fs::resize_file(bed.path, leaf::host::state_size);
  }
  SUBCASE("zeros") {
    write_bytes(bed.path, std::string(leaf::host::state_size, '\0'));
  }
  SUBCASE("text") {
    write_bytes(bed.path, std::string(leaf::host::state_size, 'x'));
  }
  CHECK(bed.is_discarded());
}

TEST_CASE("state file: another version's lies beside it, and neither touches the other's") {
  Bed bed;
  REQUIRE(bed.key.file_name().ends_with(".v3"));
  fs::path other = bed.path;
  other.replace_extension(".v5");
  fs::copy(bed.path, other);
  const std::string before = read_bytes(other);
  fs::remove(bed.path);
  CHECK(bed.open()->state().buffer.published_end() == 0);
  CHECK(read_bytes(other) == before);
  CHECK(leaf::host::state_files(bed.folder, {bed.key.kind}) == std::vector<std::string>{bed.key.file_name()});
}

TEST_CASE("state file: one that says it is of another version is discarded") {
  Bed bed;
  patch_header(bed.path, [](FileHeader& header) { ++header.format; });
  CHECK(bed.is_discarded());
}

TEST_CASE("state file: what somebody has put in its way is refused and left alone") {
  Bed bed;
  const fs::path victim = bed.home.path() / "victim";
  fs::rename(bed.path, victim);
  const std::string before = read_bytes(victim);
  std::string says;
  SUBCASE("a symbolic link") {
    fs::create_symlink(victim, bed.path);
    says = "is a symbolic link";
  }
  SUBCASE("a symbolic link to nothing") {
    fs::create_symlink(bed.home.path() / "nothing", bed.path);
    says = "is a symbolic link";
  }
  SUBCASE("a hard link") {
    fs::create_hard_link(victim, bed.path);
    says = "has other names too";
  }
  SUBCASE("a folder") {
    fs::create_directory(bed.path);
    says = "is a folder";
  }
  SUBCASE("a pipe") {
    REQUIRE(mkfifo(bed.path.c_str(), 0600) == 0);
    says = "is no regular file";
  }
  CHECK(error_code([&] { bed.open(); }) == ErrorCode::refused);
  CHECK(error_text([&] { bed.open(); }).find(says) != std::string::npos);
  CHECK(error_code([&] { bed.find(); }) == ErrorCode::refused);
  CHECK(fs::exists(fs::symlink_status(bed.path)));
  CHECK(read_bytes(victim) == before);
  CHECK_FALSE(fs::exists(bed.home.path() / "nothing"));
}

TEST_CASE("state file: other rights than its owner's alone are refused, whatever the umask was") {
  Bed bed;
  for (const mode_t mode : {0644u, 0660u, 0602u, 0700u, 04600u}) {
    REQUIRE(chmod(bed.path.c_str(), mode) == 0);
    CHECK_MESSAGE(error_code([&] { bed.open(); }) == ErrorCode::refused, mode);
  }
  for (const mode_t mask : {0000u, 0022u, 0077u, 0777u}) {
    fs::remove(bed.path);
    const mode_t before = umask(mask);
    const auto file = bed.open();
    umask(before);
    CHECK(fs::status(bed.path).permissions() == fs::perms(0600));
    CHECK(bed.is_found());
  }
}

TEST_CASE("state file: many that need it first at once all map the same one") {
  constexpr int processes = 24, rounds = 100;
  Bed bed;
  for (int round = 0; round < rounds; ++round) {
    fs::remove(bed.path);
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
        const auto file = bed.open();
        const auto lock = file->try_lock(bed.folder);
        if (lock && file->state().buffer.published_end() == 0) file->state().buffer.publish({1, 100}, 1);
        std::int64_t id = 0;
        for (; id == 0; sched_yield()) id = file->state().buffer.take(1).range.lo;
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
  Bed bed;
  const auto again = bed.open();
  {
    const auto lock = bed.first->try_lock(bed.folder);
    CHECK(lock);
    CHECK_FALSE(again->try_lock(bed.folder));
    CHECK_FALSE(bed.first->try_lock(bed.folder));
  }
  CHECK(again->try_lock(bed.folder));
}

TEST_CASE(
    "state file: the lock of a process that is killed is free, and a child does not keep its parent's") {
  Bed bed;
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const auto lock = bed.open()->try_lock(bed.folder);
    const char answer = lock ? 'y' : 'n';
    if (write(pipe_ends[1], &answer, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char answer = 0;
  REQUIRE(read(pipe_ends[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  CHECK_FALSE(bed.first->try_lock(bed.folder));
  kill(holder, SIGSTOP);
  CHECK_FALSE(bed.first->try_lock(bed.folder));
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);

  pid_t child = 0;
  {
    const auto lock = bed.first->try_lock(bed.folder);
    CHECK(lock);
    child = fork();
    if (child == 0) {
      for (;;) pause();
    }
  }
  CHECK(bed.first->try_lock(bed.folder));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_CASE("state file: there is no lock of one that was removed or replaced, and what is in it can be used") {
  Bed bed;
  fs::remove(bed.path);
  CHECK_FALSE(bed.first->is_current(bed.folder));
  CHECK_FALSE(bed.first->try_lock(bed.folder));
  const auto another = bed.open();
  CHECK_FALSE(bed.first->is_current(bed.folder));
  CHECK_FALSE(bed.first->try_lock(bed.folder));
  CHECK(another->try_lock(bed.folder));
  CHECK(bed.first->state().buffer.take(1).range == leaf::Range{100, 101});
  CHECK(inode_of(bed.path) != 0);
}

TEST_CASE("state file: one that does not count and whose lock is held is waited for, not taken away") {
  Bed bed;
  const auto lock = bed.first->try_lock(bed.folder);
  REQUIRE(lock);
  patch_header(bed.path, [](FileHeader& header) { header.boot[0] ^= 1; });
  const ino_t before = inode_of(bed.path);
  CHECK(error_code([&] { bed.open(); }) == ErrorCode::unavailable);
  CHECK(inode_of(bed.path) == before);
}
