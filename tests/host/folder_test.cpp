#include "host/folder.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "host/state_file.hpp"
#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "support/elsewhere.hpp"
#include "support/error_of.hpp"
#include "support/sqlite_store.hpp"

namespace fs = std::filesystem;
using leaf::ErrorCode;
using leaf::HostOptions;
using leaf::host::CurrentFolder;
using leaf::host::Folder;
using leaf::test::elsewhere;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::error_text;
using leaf::test::mount_over;
using leaf::test::proposes;
using leaf::test::TemporaryFolder;

namespace {

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

std::ptrdiff_t entries_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

/// What happens before this thread gives a folder its name, once.
thread_local std::function<void()> before_rename;

}  // namespace

// The linker leads renameat2() here.
extern "C" {
int __real_renameat2(int from, const char* path, int to, const char* anew, unsigned flags);
int __wrap_renameat2(int from, const char* path, int to, const char* anew, unsigned flags);

int __wrap_renameat2(int from, const char* path, int to, const char* anew, unsigned flags) {
  if (const auto first = std::exchange(before_rename, nullptr)) first();
  return __real_renameat2(from, path, to, anew, flags);
}
}

TEST_CASE("folder: it is made for its owner alone, or for a group, whatever the umask is") {
  TemporaryFolder home;
  for (const mode_t mask : {0000u, 0022u, 0077u, 0777u}) {
    const fs::path own = home.path() / ("own" + std::to_string(mask));
    const fs::path shared = home.path() / ("shared" + std::to_string(mask));
    const mode_t before = umask(mask);
    Folder::open({.folder = own});
    Folder::open({.folder = shared, .group = true});
    umask(before);
    CHECK(mode_of(own) == 0700);
    CHECK(mode_of(shared) == 02770);
  }
  CHECK(entries_in(home.path()) == 8);
}

TEST_CASE("folder: that of a group which this user is not in is refused, though root may read it") {
  if (geteuid() != 0) return;
  constexpr uid_t stranger = 54'321;
  TemporaryFolder home;
  const HostOptions options{.folder = home.path() / "run", .group = true};
  Folder::open(options);
  const auto give_to = [&](uid_t user, gid_t group) {
    REQUIRE(chown(options.folder.c_str(), user, group) == 0);
    REQUIRE(chmod(options.folder.c_str(), 02770) == 0);
  };
  give_to(stranger, stranger);
  CHECK(error_text([&] { Folder::open(options); }).find("a group that this user is not in") !=
        std::string::npos);
  CHECK(error_code([&] { Folder::find(options); }) == ErrorCode::refused);
  const auto no_marks = leaf::why_no_host_marks(options);
  REQUIRE(no_marks);
  CHECK(no_marks->hint() ==
        "run this as a member of the group; or name another folder, before anything is drawn");
  give_to(geteuid(), stranger);  // its owner let them in
  CHECK_NOTHROW(Folder::open(options));
  give_to(stranger, getegid());
  CHECK_NOTHROW(Folder::open(options));
}

TEST_CASE("folder: one that is shared with a group is to be shared, and not left for another one") {
  TemporaryFolder home;
  const HostOptions options{.folder = home.path() / "run"};
  Folder::open({.folder = options.folder, .group = true});
  const auto require_to_share = [&] {
    CHECK(error_text([&] { Folder::open(options); }).find("is shared with a group") != std::string::npos);
    CHECK(error_code([&] { Folder::find(options); }) == ErrorCode::refused);
    const auto no_marks = leaf::why_no_host_marks(options);
    REQUIRE(no_marks);
    CHECK(no_marks->hint() == "share it");
    CHECK(proposes(*no_marks, {.kind = leaf::Remedy::Kind::share_host}));
  };
  require_to_share();
  if (geteuid() != 0) return;
  constexpr uid_t stranger = 65534;
  const auto give_to = [&](uid_t user, gid_t group) {
    REQUIRE(chown(options.folder.c_str(), user, group) == 0);
    REQUIRE(chmod(options.folder.c_str(), 02770) == 0);
  };
  give_to(stranger, getegid());
  require_to_share();
  give_to(geteuid(), stranger);
  require_to_share();
  give_to(stranger, stranger);
  CHECK(error_text([&] { Folder::open(options); }).find("belongs to another user") != std::string::npos);
}

TEST_CASE("folder: any other mode is refused, with the command that mends it") {
  TemporaryFolder home;
  const fs::path path = home.path() / "run";
  for (const bool group : {false, true}) {
    const mode_t right = group ? 02770 : 0700;
    const HostOptions options{.folder = path, .group = group};
    Folder::open(options);
    for (const mode_t mode :
         {0701u, 0710u, 0720u, 0750u, 0755u, 0770u, 0777u, 01777u, 02770u, 02775u, 0700u}) {
      REQUIRE(chmod(path.c_str(), mode) == 0);
      if (mode == right) continue;
      CHECK_MESSAGE(error_code([&] { Folder::open(options); }) == ErrorCode::refused, mode);
      CHECK_MESSAGE(error_code([&] { Folder::find(options); }) == ErrorCode::refused, mode);
    }
    REQUIRE(chmod(path.c_str(), 0755) == 0);
    const std::string mend = group ? "'chmod 02770 " : "'chmod 00700 ";
    CHECK(error_text([&] { Folder::open(options); }).find(mend) != std::string::npos);
    REQUIRE(chmod(path.c_str(), right) == 0);
    CHECK_FALSE(error_code([&] { Folder::open(options); }));
    fs::remove(path);
  }
}

TEST_CASE("folder: the command that mends a mode is one for a shell") {
  TemporaryFolder home;
  const fs::path path = home.path() / "a b$c";
  REQUIRE(mkdir(path.c_str(), 0755) == 0);
  const std::string text = error_text([&] { Folder::open({.folder = path}); });
  CHECK(text.find("'chmod 00700 \"" + home.path().string() + "/a b\\$c\"' fixes it") != std::string::npos);
}

TEST_CASE("folder: of one that holds anything else no other mode is advised") {
  TemporaryFolder home;
  const fs::path path = home.path() / "etc";
  Folder::open({.folder = path});
  REQUIRE(chmod(path.c_str(), 0755) == 0);
  const auto advice = [&] { return error_text([&] { Folder::open({.folder = path}); }); };
  const auto make = [&](const char* name) { leaf::host::Descriptor(creat((path / name).c_str(), 0600)); };
  make("tag-0123456789abcdef.v2");
  make("mark-0123456789abcdef.v1");
  CHECK(advice().find("chmod") != std::string::npos);
  make("passwd");
  CHECK(advice().find("chmod") == std::string::npos);
  CHECK(proposes(error_of([&] { Folder::open({.folder = path}); }),
                 {.kind = leaf::Remedy::Kind::choose_host_folder}));
}

TEST_CASE("folder: one of another user is refused") {
  if (geteuid() != 0) return;
  TemporaryFolder home;
  const fs::path path = home.path() / "run";
  Folder::open({.folder = path});
  REQUIRE(chown(path.c_str(), 65534, 0) == 0);
  CHECK(error_code([&] { Folder::open({.folder = path}); }) == ErrorCode::refused);
  CHECK(error_text([&] { Folder::open({.folder = path}); }).find("belongs to another user") !=
        std::string::npos);
}

TEST_CASE("folder: a symbolic link in its place is refused") {
  TemporaryFolder home;
  Folder::open({.folder = home.path() / "elsewhere"});
  fs::create_symlink(home.path() / "elsewhere", home.path() / "run");
  const HostOptions options{.folder = home.path() / "run"};
  CHECK(error_code([&] { Folder::open(options); }) == ErrorCode::refused);
  CHECK(error_code([&] { Folder::find(options); }) == ErrorCode::refused);
  CHECK(error_text([&] { Folder::open(options); }).find("is a symbolic link") != std::string::npos);
  CHECK(error_code([&] { CurrentFolder({.folder = options.folder + "/"}); }) == ErrorCode::refused);
}

TEST_CASE("folder: one that is no folder, or cannot be made, is a matter of configuration") {
  TemporaryFolder home;
  close(open((home.path() / "file").c_str(), O_CREAT | O_CLOEXEC, 0600));
  CHECK(error_code([&] { Folder::open({.folder = home.path() / "file"}); }) == ErrorCode::usage);
  CHECK(error_code([&] { Folder::open({.folder = home.path() / "none" / "run"}); }) == ErrorCode::usage);
  CHECK_FALSE(fs::exists(home.path() / "none"));
}

TEST_CASE("folder: a file system that is not in memory is not accepted") {
  CHECK_FALSE(leaf::is_file_system_in_memory("/proc"));
  CHECK_FALSE(leaf::is_file_system_in_memory("/no/such/folder"));
  CHECK(error_code([&] { Folder::open({.folder = "/proc/self/task"}); }) == ErrorCode::usage);
  TemporaryFolder home;
  CHECK(leaf::is_file_system_in_memory(home.path()));
  // What the library was built on is a disk, unless somebody has said otherwise.
  const fs::path built = fs::current_path();
  struct statfs system {};
  REQUIRE(statfs(built.c_str(), &system) == 0);
  if (system.f_type == TMPFS_MAGIC) return;
  CHECK_FALSE(leaf::is_file_system_in_memory(built));
  TemporaryFolder on_disk(built);
  CHECK(error_code([&] { Folder::open({.folder = on_disk.path() / "run"}); }) == ErrorCode::usage);
  CHECK_FALSE(fs::exists(on_disk.path() / "run"));
  // What was there stays.
  fs::create_directory(on_disk.path() / "run");
  CHECK(error_code([&] { Folder::open({.folder = on_disk.path() / "run"}); }) == ErrorCode::usage);
  CHECK(fs::exists(on_disk.path() / "run"));
}

TEST_CASE("folder: looking makes none") {
  TemporaryFolder home;
  CHECK_FALSE(Folder::find({.folder = home.path() / "run"}));
  CHECK_FALSE(fs::exists(home.path() / "run"));
}

TEST_CASE("folder: many that need it first at once all find it finished") {
  TemporaryFolder home;
  for (int round = 0; round < 20; ++round) {
    const HostOptions options{.folder = home.path() / ("run" + std::to_string(round)),
                              .group = round % 2 == 1};
    std::vector<pid_t> children;
    for (int i = 0; i < 12; ++i) {
      children.push_back(fork());
      if (children.back() == 0) _exit(error_code([&] { Folder::open(options); }) ? 1 : 0);
    }
    for (const pid_t child : children) {
      int status = 0;
      REQUIRE(waitpid(child, &status, 0) == child);
      CHECK(status == 0);
    }
  }
  CHECK(entries_in(home.path()) == 20);
}

TEST_CASE(
    "folder: who comes too late to make it uses what another process made, and leaves nothing beside it") {
  TemporaryFolder home;
  const HostOptions options{.folder = home.path() / "run"};
  std::optional<Folder> of_another;
  before_rename = [&] { of_another.emplace(Folder::open(options)); };
  const Folder folder = Folder::open(options);
  REQUIRE(of_another);
  CHECK(of_another->is_current());
  CHECK(folder.is_current());
  CHECK(entries_in(home.path()) == 1);
}

TEST_CASE("folder: to try to make one leaves nothing") {
  TemporaryFolder home;
  std::ptrdiff_t made = 0;
  Folder::try_to_make({.folder = home.path() / "run"},
                      [&](const Folder&) { made = entries_in(home.path()); });
  CHECK(made == 1);
  CHECK(entries_in(home.path()) == 0);
}

TEST_CASE("folder: one that another file system is mounted over is not used any more") {
  TemporaryFolder home;
  const HostOptions options{.folder = home.path() / "run"};
  Folder::open(options);
  const auto mount_one_over = [&] { return mount_over(options.folder); };
  const auto is_left = elsewhere(CLONE_NEWNS, mount_one_over, [&] {
    const Folder folder = Folder::open(options);
    // Both are the first folder of a file system, so that their inodes have the same number.
    return folder.is_current() && mount_one_over() && !folder.is_current();
  });
  if (!is_left) MESSAGE("not tested: needs leave to make namespaces");
  CHECK(is_left.value_or(true));
}
