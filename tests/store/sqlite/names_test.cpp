#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "leaf/error.hpp"
#include "leaf/segment.hpp"
#include "leaf/store.hpp"
#include "leaf/tag_import.hpp"
#include "store/sqlite/file.hpp"
#include "support/error_of.hpp"
#include "support/is_asleep.hpp"
#include "support/refuse_each.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"
#include "support/wait_for.hpp"
#include "support/working_folder.hpp"

namespace fs = std::filesystem;
using leaf::ErrorCode;
using leaf::Range;
using leaf::Store;
using leaf::TagName;
using leaf::test::error_code;
using leaf::test::error_text;
using leaf::test::SqliteSession;
using leaf::test::SqliteStore;
using leaf::test::TemporaryFolder;
using leaf::test::WorkingFolder;

namespace {

leaf::StoreOptions options_for(const fs::path& path) {
  leaf::StoreOptions options;
  options.url = "sqlite:" + path.string();
  return options;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// A store with the tag `order`, of which `drawn` IDs are granted.
void make_store(const fs::path& path, std::int64_t drawn) {
  Store store(options_for(path));
  store.migrate();
  leaf::test::add_tag(store, "order", 1);
  if (drawn > 0) store.grant(TagName("order"), drawn);
}

/// A pipe whose ends are both open, so that whoever opens it all the same does not wait for ever.
class HeldPipe {
 public:
  explicit HeldPipe(const std::string& name) {
    REQUIRE(mkfifo(name.c_str(), 0600) == 0);
    descriptor_ = open(name.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(descriptor_ >= 0);
  }
  ~HeldPipe() { close(descriptor_); }
  HeldPipe(const HeldPipe&) = delete;
  HeldPipe& operator=(const HeldPipe&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace

TEST_CASE("sqlite names: a file with a second name is refused by both, whatever is asked of it") {
  TemporaryFolder folder;
  const auto first = folder.path() / "first.db";
  const auto second = folder.path() / "a second.db";
  make_store(first, 0);
  fs::create_hard_link(first, second);
  for (const auto& path : {first, second}) {
    CHECK(error_code([&] { Store(options_for(path)).grant(TagName("order"), 1); }) == ErrorCode::refused);
    CHECK(error_code([&] { Store(options_for(path)).migrate(); }) == ErrorCode::refused);
    CHECK(error_code([&] { Store(options_for(path)).tags(); }) == ErrorCode::refused);
  }
  const std::string text = error_text([&] { Store(options_for(second)).tags(); });
  CHECK(has(text, "store '" + second.string() + "' has more than one name"));
  CHECK(has(text, "'find / -samefile \"" + second.string() + "\"' lists its names"));
  fs::remove(second);
  CHECK(Store(options_for(first)).grant(TagName("order"), 1).range == Range{1, 2});
}

TEST_CASE("sqlite names: what is no file of its own is refused, and nothing is made") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  make_store(path, 0);
  const auto error = [](const std::string& name) {
    return error_text([&] { Store(options_for(name)).migrate(); });
  };
  REQUIRE(mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("leaf.db-journal", folder.path() / "link");
  const std::string no_files[] = {"/dev/null", "/dev/zero", folder.path().string(),
                                  (folder.path() / "pipe").string(), path.string() + "/"};
  for (const std::string& name : no_files) CHECK(has(error(name), "store '" + name + "' is not a file"));
  const std::string journals[] = {path.string() + "-journal", path.string() + "-wal", path.string() + "-shm",
                                  (folder.path() / "link").string()};
  for (const std::string& name : journals) {
    CHECK(has(error(name), "store '" + name + "' has the name of another file's journal"));
    CHECK(error_code([&] { Store(options_for(name)).migrate(); }) == ErrorCode::usage);
  }
  CHECK(fs::file_size(path.string() + "-journal") == 0);
  CHECK_FALSE(fs::exists(path.string() + "-wal"));
  CHECK(Store(options_for(path)).grant(TagName("order"), 1).range == Range{1, 2});
}

TEST_CASE("sqlite names: what lies in a journal's place and is no file is refused before SQLite opens it") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  const auto link = folder.path() / "link.db";
  make_store(path, 0);
  make_store(folder.path() / "other.db", 0);
  fs::create_symlink("leaf.db", link);
  for (const char* end : {"-journal", "-wal", "-shm"}) {
    const std::string place = path.string() + end;
    CAPTURE(place);
    const auto check_refused = [&] {
      for (const auto& name : {path, link}) {
        const auto look = [&] { Store(options_for(name)).tags(); };
        CHECK(error_code(look) == ErrorCode::refused);
        CHECK(has(error_text(look), "'" + place + "' is a link, or not a file"));
        CHECK(error_code([&] { Store(options_for(name)).migrate(); }) == ErrorCode::refused);
      }
      fs::remove(place);
    };
    fs::remove(place);
    {
      const HeldPipe pipe(place);
      check_refused();
    }
    fs::create_directory(place);
    check_refused();
    for (const char* target : {"nowhere", "other.db"}) {
      fs::create_symlink(target, place);
      check_refused();
    }
    CHECK(Store(options_for(path)).tags().size() == 1);
  }
  CHECK_FALSE(fs::exists(folder.path() / "nowhere"));
  CHECK(Store(options_for(link)).grant(TagName("order"), 1).range == Range{1, 2});
}

TEST_CASE("sqlite names: a pipe that comes into the place of an open store's journal is refused") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  make_store(path, 0);
  Store store(options_for(path));
  CHECK(store.grant(TagName("order"), 1).range == Range{1, 2});
  fs::remove(path.string() + "-journal");
  {
    const HeldPipe pipe(path.string() + "-journal");
    CHECK(error_code([&] { store.grant(TagName("order"), 1); }) == ErrorCode::refused);
    CHECK(error_code([&] { store.tags(); }) == ErrorCode::refused);
    CHECK(error_code([&] { store.migrate(); }) == ErrorCode::refused);
  }
  fs::remove(path.string() + "-journal");
  CHECK(store.grant(TagName("order"), 1).range == Range{2, 3});
}

TEST_CASE("sqlite names: a second name that an open store gets is noticed at the next grant") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  const auto other = folder.path() / "other.db";
  make_store(path, 0);
  Store store(options_for(path));
  CHECK(store.grant(TagName("order"), 1).range == Range{1, 2});
  fs::create_hard_link(path, other);
  CHECK(error_code([&] { store.grant(TagName("order"), 1); }) == ErrorCode::refused);
  CHECK(error_code([&] { store.migrate(); }) == ErrorCode::refused);
  fs::remove(other);
  CHECK(store.grant(TagName("order"), 1).range == Range{2, 3});
}

TEST_CASE(
    "sqlite names: a file that is mounted without its folder is refused, be it the store or its journal") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db", another = folder.path() / "another";
  make_store(path, 0);
  std::ofstream(another).close();
  Store store(options_for(path));
  CHECK(store.grant(TagName("order"), 1).range == Range{1, 2});
  for (const auto& [what, over] : {std::pair(path, path), {another, fs::path(path.string() + "-journal")}}) {
    CAPTURE(over);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      constexpr int may_not_mount = 77;
      if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          mount(what.c_str(), over.c_str(), nullptr, MS_BIND, nullptr) != 0)
        _exit(may_not_mount);
      const auto is_refused = [](Store& asked) {
        return error_code([&] { asked.grant(TagName("order"), 1); }) == ErrorCode::refused;
      };
      Store fresh(options_for(path));
      _exit(is_refused(store) && is_refused(fresh) ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
  }
  CHECK(store.grant(TagName("order"), 1).range == Range{2, 3});
}

TEST_CASE("sqlite names: a journal that is another store's, too, is refused by both") {
  TemporaryFolder folder;
  const auto one = folder.path() / "one.db", another = folder.path() / "another.db";
  make_store(one, 0);
  make_store(another, 0);
  Store store(options_for(one));
  CHECK(store.grant(TagName("order"), 1).range == Range{1, 2});
  const fs::path journal = one.string() + "-journal", linked = another.string() + "-journal";
  fs::remove(linked);
  fs::create_hard_link(journal, linked);
  CHECK(error_code([&] { store.grant(TagName("order"), 1); }) == ErrorCode::refused);
  CHECK(error_code([&] { Store(options_for(another)).grant(TagName("order"), 1); }) == ErrorCode::refused);
  fs::remove(linked);
  CHECK(store.grant(TagName("order"), 1).range == Range{2, 3});
}

TEST_CASE("sqlite names: a path that is too long for SQLite is named") {
  TemporaryFolder folder;
  fs::path path = folder.path();
  while (path.string().size() < 500) path /= std::string(50, 'a');
  fs::create_directories(path);
  const leaf::Error error = leaf::test::error_of([&] { Store(options_for(path / "leaf.db")).migrate(); });
  CHECK(error.code() == ErrorCode::usage);
  CHECK(std::string(error.what()).find("is too long for SQLite") != std::string::npos);
}

TEST_CASE("sqlite names: what leads to no path of a file is refused, and no other file is made") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  make_store(path, 0);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  fs::remove(path);
  const std::string removed = "/proc/self/fd/" + std::to_string(descriptor);
  CHECK(error_code([&] { Store(options_for(removed)).grant(TagName("order"), 1); }) == ErrorCode::usage);
  CHECK(error_code([&] { Store(options_for(removed)).migrate(); }) == ErrorCode::usage);
  close(descriptor);
  CHECK_FALSE(fs::exists(path.string() + " (deleted)"));
}

TEST_CASE(
    "sqlite names: a new file in a folder that a link in /proc leads to is not made where its text says") {
  TemporaryFolder folder;
  const auto gone = folder.path() / "gone";
  const fs::path namesake = gone.string() + " (deleted)";
  fs::create_directory(gone);
  const int descriptor = open(gone.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  fs::remove(gone);
  fs::create_directory(namesake);
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor) + "/leaf.db";
  CHECK(error_code([&] { Store(options_for(path)).migrate(); }) == ErrorCode::usage);
  close(descriptor);
  CHECK(fs::is_empty(namesake));
}

TEST_CASE("sqlite names: the journal lies beside the file itself, whatever symbolic links lead to it") {
  TemporaryFolder folder;
  fs::create_directory(folder.path() / "real");
  const auto path = folder.path() / "real" / "leaf.db";
  const auto link = folder.path() / "link.db";
  const auto folder_link = folder.path() / "folder";
  make_store(path, 0);
  fs::create_symlink("link-to-link.db", link);
  fs::create_symlink("real/leaf.db", folder.path() / "link-to-link.db");
  fs::create_directory_symlink("real", folder_link);
  fs::remove(path.string() + "-journal");
  CHECK(Store(options_for(link)).grant(TagName("order"), 1).range == Range{1, 2});
  CHECK(Store(options_for(folder_link / "leaf.db")).grant(TagName("order"), 1).range == Range{2, 3});
  CHECK(fs::exists(path.string() + "-journal"));
  CHECK_FALSE(fs::exists(link.string() + "-journal"));
  CHECK(Store(options_for(path)).grant(TagName("order"), 1).range == Range{3, 4});
}

TEST_CASE("sqlite names: an open store goes over to the file that is put in the place of its own") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  const auto other = folder.path() / "other.db";
  make_store(path, 0);
  make_store(other, 500);
  Store store(options_for(path));
  CHECK(store.grant(TagName("order"), 1).range == Range{1, 2});
  const leaf::StoreIdentity identity = store.identity();
  SUBCASE("moved over it") {
    fs::rename(other, path);
  }
  SUBCASE("removed and copied") {
    fs::remove(path);
    fs::copy_file(other, path);
  }
  SUBCASE("moved aside") {
    fs::rename(path, folder.path() / "aside.db");
    fs::rename(other, path);
  }
  SUBCASE("a link that leads elsewhere") {
    fs::rename(path, folder.path() / "aside.db");
    fs::create_symlink("other.db", path);
  }
  const leaf::Grant grant = store.grant(TagName("order"), 1);
  CHECK(grant.range == Range{501, 502});
  CHECK(grant.store.deployment != identity.deployment);
  CHECK(grant.store.copy != identity.copy);
  CHECK(store.identity() == grant.store);
  CHECK(store.tag(TagName("order")).next_id == 502);
}

TEST_CASE("sqlite names: what a file granted while another one was put in its place is not used") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  const auto other = folder.path() / "other.db";
  make_store(path, 0);
  make_store(other, 500);
  SqliteSession reader(path.string());
  REQUIRE(reader.run("BEGIN; SELECT * FROM leaf_alloc"));
  std::atomic<std::int64_t> granted{0};
  {
    std::jthread waiting([&] { granted = Store(options_for(path)).grant(TagName("order"), 1).range.lo; });
    // It has written all that its commit takes, and waits for who reads.
    std::error_code none;
    REQUIRE(
        leaf::test::wait_for([&] { return fs::file_size(path.string() + "-journal", none) > 0 && !none; }));
    fs::rename(other, path);
    reader.run("COMMIT");
  }
  CHECK(granted == 501);
}

TEST_CASE(
    "sqlite names: what is imported into a file while another one is put in its place comes into that") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  const auto other = folder.path() / "other.db";
  make_store(path, 0);
  make_store(other, 500);
  SqliteSession reader(path.string());
  REQUIRE(reader.run("BEGIN; SELECT * FROM leaf_alloc"));
  const TagName imported("imported");
  std::optional<ErrorCode> failed = ErrorCode::failed;
  {
    std::jthread importing([&] {
      failed = error_code([&] {
        Store store(options_for(path));
        leaf::import_tags({{.name = imported, .next_id = 5}}, store);
      });
    });
    std::error_code none;
    REQUIRE(
        leaf::test::wait_for([&] { return fs::file_size(path.string() + "-journal", none) > 0 && !none; }));
    fs::rename(other, path);
    reader.run("COMMIT");
  }
  CHECK(failed == std::nullopt);
  CHECK(Store(options_for(path)).tag(imported).next_id == 5);
}

TEST_CASE("sqlite names: a grant that waits for who writes to a file goes over to the one put in its place") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  const auto other = folder.path() / "other.db";
  make_store(path, 0);
  make_store(other, 500);
  leaf::StoreOptions options = options_for(path);
  options.timeout = leaf::test::patience;
  Store store(options);
  CHECK(store.grant(TagName("order"), 1).range.lo == 1);
  SqliteSession writer(path.string());
  REQUIRE(writer.run("BEGIN IMMEDIATE"));
  std::atomic<pid_t> thread{0};
  std::optional<ErrorCode> failed = ErrorCode::failed;
  std::int64_t granted = 0;
  {
    std::jthread waiting([&] {
      thread = gettid();
      failed = error_code([&] { granted = store.grant(TagName("order"), 1).range.lo; });
    });
    REQUIRE(leaf::test::wait_for([&] { return thread != 0 && leaf::test::is_asleep(thread); }));
    fs::rename(other, path);
    writer.run("ROLLBACK");
  }
  CHECK(failed == std::nullopt);
  CHECK(granted == 501);
}

TEST_CASE("sqlite names: a link to the file that is turned to another one is followed") {
  TemporaryFolder folder;
  const auto link = folder.path() / "leaf.db";
  const auto first = folder.path() / "first.db";
  const auto second = folder.path() / "second.db";
  make_store(first, 0);
  make_store(second, 500);
  fs::create_symlink("first.db", link);
  Store store(options_for(link));
  CHECK(store.grant(TagName("order"), 1).range == Range{1, 2});
  fs::remove(link);
  fs::create_symlink("second.db", link);
  CHECK(store.grant(TagName("order"), 1).range == Range{501, 502});
  // The same file under another name has another journal.
  fs::rename(second, folder.path() / "third.db");
  fs::remove(link);
  fs::create_symlink("third.db", link);
  CHECK(store.grant(TagName("order"), 1).range == Range{502, 503});
  CHECK(fs::exists(folder.path() / "third.db-journal"));
}

namespace {

/// The link that is turned to `second.db` once SQLite has opened what it led to.
fs::path turned_link;

int turn_link(sqlite3*, char**, const sqlite3_api_routines*) {
  if (turned_link.empty()) return SQLITE_OK;
  fs::remove(turned_link);
  fs::create_symlink("second.db", turned_link);
  turned_link.clear();
  return SQLITE_OK;
}

}  // namespace

TEST_CASE(
    "sqlite names: a link that is turned while the store opens is not taken for the file that is open") {
  TemporaryFolder folder;
  const auto link = folder.path() / "leaf.db";
  make_store(folder.path() / "first.db", 0);
  make_store(folder.path() / "second.db", 500);
  fs::create_symlink("first.db", link);
  const auto extension = reinterpret_cast<void (*)()>(&turn_link);
  REQUIRE(sqlite3_auto_extension(extension) == SQLITE_OK);
  turned_link = link;
  Store store(options_for(link));
  const leaf::Grant grant = store.grant(TagName("order"), 1);
  sqlite3_cancel_auto_extension(extension);
  CHECK(turned_link.empty());
  CHECK(grant.range == Range{501, 502});
  CHECK(grant.store == Store(options_for(folder.path() / "second.db")).identity());
}

TEST_CASE(
    "sqlite names: a file that is gone does not exist, is not made anew, and counts again once it is back") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  const auto aside = folder.path() / "aside.db";
  make_store(path, 0);
  Store store(options_for(path));
  CHECK(store.grant(TagName("order"), 1).range == Range{1, 2});
  fs::rename(path, aside);
  for (int i = 0; i < 2; ++i) {
    CHECK(has(error_text([&] { store.grant(TagName("order"), 1); }), "' does not exist"));
    CHECK(has(error_text([&] { store.tags(); }), "' does not exist"));
  }
  CHECK_FALSE(fs::exists(path));
  fs::rename(aside, path);
  CHECK(store.grant(TagName("order"), 1).range == Range{2, 3});
}

TEST_CASE("sqlite names: an allocator goes on by itself after its file was exchanged") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  const auto other = folder.path() / "other.db";
  make_store(path, 0);
  leaf::SegmentAllocator allocator(options_for(path));
  leaf::SegmentTag tag = allocator.tag(TagName("order"));
  for (int i = 1; i <= 5; ++i) CHECK(tag.next() == i);
  Store(options_for(path)).grant(TagName("order"), 1000);
  fs::copy_file(path, other);
  fs::rename(other, path);
  std::int64_t last = 5;
  for (int i = 0; i < 50; ++i) {
    const std::int64_t id = tag.next();
    CHECK(id > last);
    last = id;
  }
  CHECK(last > 1000);
}

TEST_CASE("sqlite names: a relative path keeps its meaning when the working folder changes") {
  TemporaryFolder folder, elsewhere;
  make_store(folder.path() / "leaf.db", 0);
  const WorkingFolder first(folder.path());
  Store store(options_for("leaf.db"));
  CHECK(store.grant(TagName("order"), 1).range == Range{1, 2});
  Store opened_later(options_for("leaf.db"));
  const WorkingFolder second(elsewhere.path());
  CHECK(store.grant(TagName("order"), 1).range == Range{2, 3});
  CHECK(opened_later.grant(TagName("order"), 1).range == Range{3, 4});
}

TEST_CASE("sqlite names: mount points are found as the kernel lists them") {
  const auto is_listed = [](std::string_view path) {
    std::istringstream mountinfo(
        "22 1 0:20 / / rw,relatime - overlay overlay rw\n"
        "36 22 98:0 /home/leaf.db /data/leaf.db rw shared:1 - ext4 /dev/root rw\n"
        "37 22 98:0 /a\\040b /data/a\\040b\\134.db rw - ext4 /dev/root rw\n"
        "damaged\n");
    return leaf::store::sqlite::is_mount_point(mountinfo, path);
  };
  CHECK(is_listed("/"));
  CHECK(is_listed("/data/leaf.db"));
  CHECK(is_listed("/data/a b\\.db"));
  CHECK_FALSE(is_listed("/data"));
  CHECK_FALSE(is_listed("/home/leaf.db"));
  CHECK_FALSE(is_listed("/data/leaf.db2"));
}

TEST_CASE("sqlite names: no mount point is passed over where memory is lacking") {
  const std::string listed = "36 22 98:0 /home/leaf.db /data/of-the-shop/leaf.db rw - ext4 /dev/root rw\n";
  bool was_passed_over = false;
  const int allocations = leaf::test::refuse_each_allocation(
      [&] {
        std::istringstream mountinfo(listed);
        if (!leaf::store::sqlite::is_mount_point(mountinfo, "/data/of-the-shop/leaf.db"))
          was_passed_over = true;
      },
      [] {});
  CHECK(allocations > 3);
  CHECK_FALSE(was_passed_over);
}

TEST_CASE("sqlite names: what an overlay writes to is found as the kernel lists it") {
  const auto upper = [](std::string_view device) {
    std::istringstream mountinfo(
        "22 1 0:20 / / rw - overlay overlay rw,lowerdir=/ro,upperdir=/media/root\\040rw/up,workdir=/w\n"
        "23 1 0:21 / /a,upperdir=/x rw - overlay overlay ro,lowerdir=/ro:/other\n"
        "24 1 0:22 / /b rw - ext4 /dev/root rw,upperdir=/x\n"
        "25 1 0:23 / /c rw - overlay overlay rw,lowerdir=/ro,upperdir=/last\n"
        "26 1 0:24 / /d rw - overlay overlay rw,lowerdir=/ro,upperdir=/a\\134\\054b,workdir=/w\n"
        "27 1 0:25 / /e rw - overlay overlay rw,lowerdir=ro,upperdir=ram/up,workdir=w\n"
        "damaged\n");
    return leaf::store::sqlite::upper_folder(mountinfo, device);
  };
  CHECK(upper("0:20") == "/media/root rw/up");
  CHECK(upper("0:21") == std::nullopt);
  CHECK(upper("0:22") == std::nullopt);
  CHECK(upper("0:23") == "/last");
  CHECK(upper("0:24") == "/a,b");
  CHECK(upper("0:25") == std::nullopt);
  CHECK(upper("0:2") == std::nullopt);
}
