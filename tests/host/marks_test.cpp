#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "host/state_patch.hpp"
#include "leaf/host.hpp"
#include "support/error_of.hpp"
#include "support/test_host.hpp"

namespace fs = std::filesystem;
using leaf::ErrorCode;
using leaf::TagName;
using leaf::test::error_code;
using leaf::test::TestHost;

namespace {

/// A store, and a host that remembers what it was granted.
struct Bed : TestHost {
  /// As in a process of its own.
  leaf::Store process() {
    auto options = store_options();
    options.marks = leaf::host_marks(host());
    return leaf::Store(options);
  }
  fs::path mark_file() const {
    for (const auto& entry : fs::directory_iterator(run)) {
      if (entry.path().filename().string().starts_with("mark-")) return entry.path();
    }
    FAIL("there is no mark");
    return {};
  }
  void back_up() { fs::copy_file(store.path(), store.path() + ".backup"); }
  void put_back() {
    fs::copy_file(store.path() + ".backup", store.path(), fs::copy_options::overwrite_existing);
  }

  const TagName order{"order"};
};

}  // namespace

TEST_CASE("marks: a file that is no mark any more is told of, and grants go on") {
  Bed bed;
  leaf::Store first = bed.process();
  leaf::test::add_tag(first, "order", 10);
  CHECK(leaf::lost_host_marks(bed.host()).empty());
  first.grant(bed.order, 5);
  CHECK(leaf::lost_host_marks(bed.host()).empty());
  const fs::path mark = bed.mark_file();
  const fs::path aside = bed.home.path() / "aside";
  bool is_replaced = false;
  std::string what;
  const auto exchanged_for = [&](const char* name, const std::function<void()>& make) {
    fs::rename(mark, aside);
    make();
    what = name;
  };
  SUBCASE("a folder") {
    exchanged_for("is a folder", [&] { fs::create_directory(mark); });
  }
  SUBCASE("a pipe") {
    exchanged_for("is no regular file", [&] { REQUIRE(mkfifo(mark.c_str(), 0600) == 0); });
  }
  SUBCASE("a device") {
    if (geteuid() != 0) return;
    exchanged_for("is no regular file",
                  [&] { REQUIRE(mknod(mark.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0); });
  }
  SUBCASE("a link") {
    exchanged_for("is a symbolic link", [&] { fs::create_symlink(aside, mark); });
  }
  SUBCASE("one that others may write") {
    REQUIRE(chmod(mark.c_str(), 0666) == 0);
    what = "may be used by others";
  }
  SUBCASE("nothing") {
    fs::resize_file(mark, 0);
    is_replaced = true;
  }
  SUBCASE("a part") {
    fs::resize_file(mark, 100);
    is_replaced = true;
  }
  SUBCASE("zeros") {
    fs::resize_file(mark, 0);
    fs::resize_file(mark, 4096);
    is_replaced = true;
  }
  SUBCASE("a damaged head") {
    std::string bytes = leaf::test::read_bytes(mark);
    bytes[offsetof(leaf::host::FileHeader, name)] ^= 1;
    leaf::test::write_bytes(mark, bytes);
    is_replaced = true;
  }
  SUBCASE("a copy") {
    fs::copy_file(mark, aside);
    fs::rename(aside, mark);
    is_replaced = true;
  }
  if (is_replaced) what = "is damaged, or a copy";
  const auto lost = leaf::lost_host_marks(bed.host());
  REQUIRE(lost.size() == 1);
  CHECK(std::string(lost[0].what()).find(mark.string() + "' " + what) != std::string::npos);
  CHECK_FALSE(lost[0].hint().empty());

  leaf::Store second = bed.process();
  CHECK(second.granted_mark(bed.order) == 0);
  CHECK(leaf::lost_host_marks(bed.host()).size() == 1);  // to look at it does not replace it
  CHECK(second.grant(bed.order, 5).range.lo == 6);
  CHECK(leaf::lost_host_marks(bed.host()).empty() == is_replaced);
  CHECK_FALSE(leaf::why_no_host_marks(bed.host()));
  // Nothing else of this host stumbles over it.
  CHECK(leaf::host_buffers(bed.host()).empty());
  CHECK(leaf::forget_failing_buffers(bed.host(), std::chrono::seconds(1)) == 0);
  // Both processes remember what they were granted themselves.
  bed.back_up();
  second.grant(bed.order, 5);
  bed.put_back();
  CHECK(error_code([&] { second.grant(bed.order, 5); }) == ErrorCode::refused);
}

TEST_CASE("marks: a process outlives that its file is cut, and does not forget what it was granted") {
  Bed bed;
  leaf::Store running = bed.process();
  leaf::test::add_tag(running, "order", 10);
  bed.back_up();
  running.grant(bed.order, 500);
  fs::resize_file(bed.mark_file(), 0);
  bed.put_back();
  CHECK(running.granted_mark(bed.order) == 501);
  CHECK(error_code([&] { running.grant(bed.order, 5); }) == ErrorCode::refused);
  CHECK(error_code([&] { bed.process().grant(bed.order, 5); }) == ErrorCode::refused);
}

TEST_CASE("marks: what counts no more since the system has started anew is no loss to tell of") {
  Bed bed;
  leaf::Store store = bed.process();
  leaf::test::add_tag(store, "order", 10);
  store.grant(bed.order, 5);
  leaf::test::patch_header(bed.mark_file(), [](leaf::host::FileHeader& header) {
    header.boot[0] = header.boot[0] == 'a' ? 'b' : 'a';
  });
  CHECK(leaf::lost_host_marks(bed.host()).empty());
}

TEST_CASE("marks: the tags that a store lost are told, but none of another deployment or that was removed") {
  Bed bed;
  bed.back_up();
  leaf::Store store = bed.process();
  for (const char* name : {"bill", "order", "gone"}) {
    leaf::test::add_tag(store, name, 10);
    store.grant(TagName(name), 5);
  }
  leaf::test::add_tag(store, "unused", 10);
  leaf::test::SqliteStore other;
  auto options = other.options();
  options.marks = leaf::host_marks(bed.host());
  leaf::Store of_other(options);
  leaf::test::add_tag(of_other, "elsewhere", 10);
  of_other.grant(TagName("elsewhere"), 5);
  store.remove_tag(TagName("gone"));
  CHECK(bed.process().lost_tags().empty());
  bed.put_back();
  leaf::Store back = bed.process();
  const auto lost = back.lost_tags();
  REQUIRE(lost.size() == 3);
  CHECK(lost[0].name.str() == "bill");
  CHECK(lost[1].name.str() == "gone");
  CHECK(lost[2].name.str() == "order");
  CHECK(lost[2].granted_end == 6);
  CHECK(of_other.lost_tags().empty());
  back.add_tag({.name = bed.order, .step = 10, .start = 6, .limit = {}, .description = {}});
  CHECK(back.lost_tags().size() == 2);
}
