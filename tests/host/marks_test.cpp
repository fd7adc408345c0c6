#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/state_patch.hpp"
#include "leaf/host.hpp"
#include "leaf/host_defaults.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "store/grant_marks.hpp"
#include "support/error_of.hpp"
#include "support/interloper.hpp"
#include "support/no_descriptors.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_host.hpp"
#include "support/working_folder.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using leaf::ErrorCode;
using leaf::TagName;
using leaf::test::error_code;
using leaf::test::error_text;
using leaf::test::MarksWithInterloper;
using leaf::test::TestHost;

namespace {

constexpr leaf::MarkHolder another = 99;  ///< holder, of whom this host knows nothing else

std::ptrdiff_t open_descriptors() {
  const fs::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

/// A store, and a host that remembers what it was granted.
struct MarkingHost : TestHost {
  /// As in a process of its own.
  leaf::Store process() {
    auto options = store_options();
    options.marks = leaf::host_marks(host_options());
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
  MarkingHost host;
  leaf::Store first = host.process();
  leaf::test::add_tag(first, "order", 10);
  CHECK(leaf::lost_host_marks(host.host_options()).empty());
  first.grant(host.order, 5);
  CHECK(leaf::lost_host_marks(host.host_options()).empty());
  const fs::path mark = host.mark_file();
  const fs::path aside = host.home.path() / "aside";
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
    what = "has mode 666, not 600";
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
  SUBCASE("a damaged header") {
    std::string bytes = leaf::test::read_bytes(mark);
    bytes[offsetof(leaf::host::FileHeader, name)] ^= 1;
    leaf::test::write_bytes(mark, bytes);
    is_replaced = true;
  }
  SUBCASE("a damaged buffer, which a mark does not use") {
    std::string bytes = leaf::test::read_bytes(mark);
    for (std::size_t i = 0; i < sizeof(leaf::host::SharedState::buffer); ++i)
      bytes[offsetof(leaf::host::SharedState, buffer) + i] ^= 1;
    leaf::test::write_bytes(mark, bytes);
    is_replaced = true;
  }
  SUBCASE("a copy") {
    fs::copy_file(mark, aside);
    fs::rename(aside, mark);
    is_replaced = true;
  }
  if (is_replaced) what = "is damaged, or a copy";
  const auto lost = leaf::lost_host_marks(host.host_options());
  REQUIRE(lost.size() == 1);
  CHECK(std::string(lost[0].what()).find(mark.string() + "' " + what) != std::string::npos);
  CHECK_FALSE(lost[0].hint().empty());

  leaf::Store second = host.process();
  CHECK(second.granted_mark(host.order) == 0);
  CHECK(leaf::lost_host_marks(host.host_options()).size() == 1);  // to look at it does not replace it
  CHECK(second.grant(host.order, 5).range.lo == 6);
  CHECK(leaf::lost_host_marks(host.host_options()).empty() == is_replaced);
  CHECK_FALSE(leaf::why_no_host_marks(host.host_options()));
  // Nothing else of this host stumbles over it.
  CHECK(leaf::host_buffers(host.host_options()).empty());
  CHECK(leaf::forget_failing_buffers(host.host_options(), std::chrono::seconds(1)) == 0);
  // Both processes remember what they were granted themselves.
  host.back_up();
  second.grant(host.order, 5);
  host.put_back();
  CHECK(error_code([&] { second.grant(host.order, 5); }) == ErrorCode::refused);
}

TEST_CASE("marks: why there would be none is said before anything is granted, and leaves nothing behind") {
  const MarkingHost host;
  auto options = host.host_options();
  CHECK_FALSE(leaf::why_no_host_marks(options));
  CHECK_FALSE(fs::exists(host.run));
  fs::create_directory(host.run);
  fs::permissions(host.run, fs::perms::owner_all);
  CHECK_FALSE(leaf::why_no_host_marks(options));
  CHECK(fs::is_empty(host.run));
  struct rlimit before {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit none { .rlim_cur = 0, .rlim_max = before.rlim_max };
  REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
  const auto no_length = leaf::why_no_host_marks(options);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  REQUIRE(no_length);
  CHECK(std::string(no_length->what()) ==
        "no file can be created in folder '" + options.folder + "': File too large");
  CHECK(fs::is_empty(host.run));
  options.folder = (host.run / "none" / "run").string();
  const auto no_folder = leaf::why_no_host_marks(options);
  REQUIRE(no_folder);
  CHECK(std::string(no_folder->what()) ==
        "folder '" + options.folder + "' cannot be made: No such file or directory");
  CHECK(no_folder->hint() == "name another one, before anything is drawn");
}

TEST_CASE("marks: a process outlives that its file is cut, and does not forget what it was granted") {
  MarkingHost host;
  leaf::Store running = host.process();
  leaf::test::add_tag(running, "order", 10);
  host.back_up();
  running.grant(host.order, 500);
  fs::resize_file(host.mark_file(), 0);
  host.put_back();
  CHECK(running.granted_mark(host.order) == 501);
  CHECK(error_code([&] { running.grant(host.order, 5); }) == ErrorCode::refused);
  CHECK(error_code([&] { host.process().grant(host.order, 5); }) == ErrorCode::refused);
}

TEST_CASE("marks: a process outlives that its file is cut, and still knows how far a mark was raised") {
  MarkingHost host;
  const auto marks = leaf::host_marks(host.host_options());
  marks->raise("d", "tag order", 501);
  fs::resize_file(host.mark_file(), 0);
  CHECK(marks->highest("d", "tag order") == 501);
}

TEST_CASE("marks: a process that has no descriptor left does not forget what others were granted") {
  MarkingHost host;
  const auto others = leaf::host_marks(host.host_options()), own = leaf::host_marks(host.host_options());
  const leaf::StoreIdentity store{.deployment = "d", .copy = "c"};
  const std::string subject = "tag order";
  others->raise(store.deployment, subject, 501);
  {
    const leaf::test::NoDescriptors none;
    CHECK(error_code([&] { own->mark(store.deployment, subject); }) == ErrorCode::failed);
    CHECK(error_code([&] { own->claim(store, subject, {1, 11}); }) == ErrorCode::failed);
    CHECK(error_code([&] { own->subjects(store.deployment); }) == ErrorCode::failed);
  }
  CHECK(own->highest(store.deployment, subject) == 501);
  CHECK(own->subjects(store.deployment) == std::vector{subject});
}

TEST_CASE("marks: a window begins no earlier than it was asked for, wherever the owner's last one ended") {
  MarkingHost host;
  leaf::Store store = host.process();
  leaf::host_marks(host.host_options())->raise(store.identity().deployment, "order a", 1);
  leaf::SnowflakeOptions options;
  options.worker.owner = "a";
  options.worker.not_before = std::chrono::floor<std::chrono::milliseconds>(host.clock.now() + 1min);
  options.host = host.host_options();
  const leaf::SnowflakeGenerator generator(host.store_options(), options);
  CHECK(store.workers().at(0).window_end == options.worker.not_before + options.worker.window);
}

TEST_CASE("marks: who takes the place of a recycled worker begins no earlier than was asked for") {
  MarkingHost host;
  leaf::Store store = host.process();
  leaf::SnowflakeOptions options;
  options.worker.owner = "a";
  options.worker.window = 2s;
  options.host = host.host_options();
  leaf::SnowflakeGenerator(host.store_options(), options).next();
  store.recycle_worker(0, true);
  host.clock.advance(1min);
  options.worker.not_before = std::chrono::floor<std::chrono::milliseconds>(host.clock.now() + 1500ms);
  leaf::SnowflakeGenerator(host.store_options(), options).next();
  CHECK(store.workers().at(0).window_end == options.worker.not_before + options.worker.window);
}

TEST_CASE("marks: a process keeps no descriptor of what was removed, and still knows what it was granted") {
  MarkingHost host;
  leaf::Store running = host.process();
  leaf::test::add_tag(running, "order", 10);
  running.grant(host.order, 10);
  const auto before = open_descriptors();
  for (int removals = 0; removals < 20; ++removals) {
    fs::remove_all(host.run);
    running.grant(host.order, 10);
  }
  CHECK(open_descriptors() <= before + 1);
  CHECK(host.process().granted_mark(host.order) == 211);
}

TEST_CASE("marks: a process that goes from worker to worker keeps few files open, and forgets none of them") {
  constexpr std::int64_t workers = 300, few = 70;
  const auto worker = [](std::int64_t i) { return "worker " + std::to_string(i); };
  MarkingHost host;
  const auto own = leaf::host_marks(host.host_options()), others = leaf::host_marks(host.host_options());
  others->raise("d", worker(0), 501);
  others->settle("d", leaf::mark_of_layout, 7);
  own->mark("d", leaf::mark_of_layout);
  const auto before = open_descriptors();
  for (std::int64_t i = 0; i < workers; ++i) own->raise("d", worker(i), 11);
  CHECK(open_descriptors() <= before + few);
  fs::remove_all(host.run);
  CHECK(own->highest("d", worker(0)) == 501);
  for (std::int64_t i = 1; i < workers; ++i) CHECK(own->highest("d", worker(i)) == 11);
  CHECK(own->settle("d", leaf::mark_of_layout, 8) == 7);
}

TEST_CASE("marks: a process whose folder was emptied tells the next one of what others were granted, too") {
  MarkingHost host;
  const std::string subject = "tag order";
  const auto own = leaf::host_marks(host.host_options()), others = leaf::host_marks(host.host_options());
  own->raise("d", subject, 11);
  others->raise("d", subject, 501);
  fs::remove_all(host.run);
  own->raise("d", subject, 12);
  CHECK(leaf::host_marks(host.host_options())->highest("d", subject) == 501);
}

TEST_CASE("marks: what counts no more since the system has started anew is no loss to tell of") {
  MarkingHost host;
  leaf::Store store = host.process();
  leaf::test::add_tag(store, "order", 10);
  store.grant(host.order, 5);
  leaf::test::patch_header(host.mark_file(), [](leaf::host::FileHeader& header) {
    header.boot[0] = header.boot[0] == 'a' ? 'b' : 'a';
  });
  CHECK(leaf::lost_host_marks(host.host_options()).empty());
}

TEST_CASE("marks: the tags that a store lost are told, but none of another deployment or that was removed") {
  MarkingHost host;
  host.back_up();
  leaf::Store store = host.process();
  for (const char* name : {"bill", "order", "gone"}) {
    leaf::test::add_tag(store, name, 10);
    store.grant(TagName(name), 5);
  }
  leaf::test::add_tag(store, "unused", 10);
  leaf::test::SqliteStore other;
  auto options = other.options();
  options.marks = leaf::host_marks(host.host_options());
  leaf::Store of_other(options);
  leaf::test::add_tag(of_other, "elsewhere", 10);
  of_other.grant(TagName("elsewhere"), 5);
  store.remove_tag(TagName("gone"));
  CHECK(host.process().lost_tags().empty());
  host.put_back();
  leaf::Store back = host.process();
  const auto lost = back.lost_tags();
  REQUIRE(lost.size() == 3);
  CHECK(lost[0].name.str() == "bill");
  CHECK(lost[1].name.str() == "gone");
  CHECK(lost[2].name.str() == "order");
  CHECK(lost[2].granted_end == 6);
  CHECK(of_other.lost_tags().empty());
  back.add_tag({.name = host.order, .step = 10, .start = 6, .limit = {}, .description = {}});
  CHECK(back.lost_tags().size() == 2);
}

TEST_CASE("marks: a tag that was removed before the backup, and added again after it, is told as lost") {
  MarkingHost host;
  leaf::Store store = host.process();
  leaf::test::add_tag(store, "order", 10);
  store.grant(host.order, 5);
  store.remove_tag(host.order);
  CHECK(host.process().lost_tags().empty());
  const std::string unknown = error_text([&] { store.tag(host.order); });
  host.back_up();
  leaf::test::add_tag(store, "order", 10);
  const std::int64_t end = store.grant(host.order, 100).range.hi;
  CHECK(host.process().lost_tags().empty());
  host.put_back();
  leaf::Store back = host.process();
  const auto lost = back.lost_tags();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].granted_end == end);
  for (const auto& attempt : std::initializer_list<std::function<void()>>{
           [&] { back.tag(host.order); }, [&] { back.grant(host.order, 1); },
           [&] { back.grant_segment(host.order, 1); }, [&] { leaf::test::add_tag(back, "order", 10); }}) {
    const std::string text = error_text(attempt);
    CHECK(text.starts_with("tag 'order' does not exist, but IDs of it were granted before, up to " +
                           std::to_string(end - 1)));
    CHECK(text != unknown);
  }
  back.add_tag({.name = host.order, .step = 10, .start = end, .limit = {}, .description = {}});
  CHECK(back.lost_tags().empty());
}

TEST_CASE("marks: a program that goes by the host's defaults has the host's, also without its buffers") {
  MarkingHost host;
  leaf::Store store = host.process();
  leaf::test::add_tag(store, "order", 10);
  host.back_up();
  store.grant(host.order, 5);
  host.put_back();
  leaf::HostDefaults here;
  here.store.text = host.store.options().url;
  here.uses_host_buffer = false;
  here.host = host.host_options();
  REQUIRE_FALSE(here.buffers());
  leaf::SegmentAllocator allocator(here.store_options(), {.host = here.buffers()});
  CHECK(error_code([&] { allocator.tag(host.order).next(); }) == ErrorCode::refused);
  here.host.folder.clear();
  CHECK(here.store_options().marks == nullptr);
}

namespace {

/// A copy of the host's store in a file of its own, drawn from beside it.
struct CopyOfStore {
  explicit CopyOfStore(MarkingHost& marking) : host(marking), path(host.home.path() / "copy.db") {
    fs::copy_file(host.store.path(), path);
  }
  leaf::Store process() {
    auto options = host.store_options();
    options.url = "sqlite:" + path.string();
    options.marks = leaf::host_marks(host.host_options());
    return leaf::Store(options);
  }

  MarkingHost& host;
  fs::path path;
};

}  // namespace

TEST_CASE("marks: a relative folder is the one that was meant, wherever the program goes") {
  MarkingHost host;
  leaf::Store admin = host.open();
  leaf::test::add_tag(admin, "order", 10);
  host.back_up();
  const leaf::test::TemporaryFolder elsewhere;
  leaf::HostOptions relative = host.host_options();
  relative.folder = "run";
  const auto draw_elsewhere = [&](const std::function<leaf::SegmentTag(leaf::SegmentAllocator&)>& open) {
    const leaf::test::WorkingFolder here(host.run.parent_path());
    leaf::SegmentAllocator allocator(host.store_options(), {.host = relative});
    std::optional<leaf::SegmentTag> tag;
    SUBCASE("before it opens the tag") {}
    SUBCASE("after it has opened the tag") {
      tag = open(allocator);
    }
    const leaf::test::WorkingFolder there(elsewhere.path());
    if (!tag) tag = open(allocator);
    return tag->next();
  };
  CHECK(draw_elsewhere([&](leaf::SegmentAllocator& allocator) { return allocator.tag(host.order); }) == 1);
  CHECK(fs::is_empty(elsewhere.path()));
  host.put_back();
  CHECK(error_code([&] { host.process().grant(host.order, 1); }) == ErrorCode::refused);
}

TEST_CASE("marks: of two copies that grant the same at the same moment, one is refused") {
  MarkingHost host;
  leaf::Store admin = host.process();
  leaf::test::add_tag(admin, "order", 10);
  CopyOfStore copy(host);
  leaf::Store other = copy.process();
  auto options = host.store_options();
  std::int64_t taken_by_other = 0;
  options.marks = std::make_shared<MarksWithInterloper>(
      leaf::host_marks(host.host_options()), [&] { taken_by_other = other.grant(host.order, 10).range.hi; });
  leaf::Store one(options);
  CHECK(error_code([&] { one.grant(host.order, 10); }) == ErrorCode::refused);
  CHECK(taken_by_other == 11);
  // Each goes on behind the other.
  CHECK(one.grant(host.order, 10).range.lo == 11);
  CHECK(error_code([&] { other.grant(host.order, 10); }) == ErrorCode::refused);
}

TEST_CASE(
    "marks: of two copies that grant the same one is refused also if the folder is emptied in between") {
  MarkingHost host;
  const auto marks = leaf::host_marks(host.host_options());
  const auto claim = [&](const std::string& copy) {
    return marks->claim({.deployment = "d", .copy = copy}, "tag order", {1, 11});
  };
  CHECK(claim("one"));
  fs::remove_all(host.run);
  CHECK_FALSE(claim("another"));
}

TEST_CASE("marks: processes that are granted IDs of one store at once lose none, whoever notes them first") {
  MarkingHost host;
  leaf::Store admin = host.process();
  leaf::test::add_tag(admin, "order", 10);
  leaf::Store other = host.process();
  auto options = host.store_options();
  options.marks = std::make_shared<MarksWithInterloper>(leaf::host_marks(host.host_options()),
                                                        [&] { other.grant(host.order, 10); });
  leaf::Store one(options);
  CHECK(one.grant(host.order, 10).range.lo == 1);
  CHECK(one.grant(host.order, 10).range.lo == 21);
}

TEST_CASE("marks: of two copies that lease a worker for the same time at the same moment, one is refused") {
  MarkingHost host;
  leaf::Store admin = host.process();
  CopyOfStore copy(host);
  leaf::Store other = copy.process();
  auto options = host.store_options();
  options.marks = std::make_shared<MarksWithInterloper>(leaf::host_marks(host.host_options()), [&] {
    CHECK(other.acquire_worker({.owner = "b"}).worker == 0);
  });
  leaf::Store one(options);
  CHECK(error_code([&] { one.acquire_worker({.owner = "a"}); }) == ErrorCode::refused);
}

TEST_CASE(
    "marks: where the mark is lost and the buffer is not, a restored store is known by what was buffered") {
  MarkingHost host;
  leaf::Store admin = host.process();
  leaf::test::add_tag(admin, "order", 100);
  host.back_up();
  std::int64_t last = 0;
  /// By a process of its own.
  const auto draw_to = [&](std::int64_t end) {
    leaf::SegmentAllocator allocator(host.store_options(), {.timeout = 1s, .host = host.host_options()});
    leaf::SegmentTag tag = allocator.tag(host.order);
    while (last < end) {
      const std::int64_t id = tag.next();
      REQUIRE(id > last);
      last = id;
    }
  };
  draw_to(250);
  fs::remove(host.mark_file());
  host.put_back();
  CHECK(error_code([&] { draw_to(10'000); }) == ErrorCode::refused);
}

TEST_CASE("marks: a file that is overwritten by a backup while a call waits for it grants nothing again") {
  MarkingHost host;
  leaf::Store admin = host.process();
  leaf::test::add_tag(admin, "order", 10);
  for (const bool is_segment : {false, true}) {
    CAPTURE(is_segment);
    fs::remove(host.store.path() + ".backup");
    host.back_up();
    leaf::Store other = host.process();
    auto options = host.store_options();
    std::int64_t next = 0;
    options.marks =
        std::make_shared<MarksWithInterloper>(leaf::host_marks(host.host_options()), nullptr, [&] {
          next = other.grant(host.order, 3).range.hi;
          host.put_back();
        });
    leaf::Store waiting(options);
    const auto grant = [&] {
      return is_segment ? waiting.grant_segment(host.order) : waiting.grant(host.order, 3);
    };
    CHECK(error_code(grant) == ErrorCode::refused);
    admin.update_tag(host.order, {.raise_to = next});
    CHECK(grant().range.lo == next);
  }
}

namespace {

/// A host that was leased a worker.
struct LeasedHost : MarkingHost {
  /// The mark of that worker.
  leaf::GrantMarks::Mark mark() { return marks->mark(lease.store.deployment, worker); }
  /// What another copy leases behind it.
  bool claim(const std::string& copy, std::int64_t count, leaf::MarkHolder holder) {
    const std::int64_t end = mark().end;
    return marks->claim({.deployment = lease.store.deployment, .copy = copy}, worker, {end, end + count},
                        holder);
  }
  /// A process in which that happens before its own claim.
  leaf::Store process_that_is_late(std::function<void()> before_the_claim) {
    auto options = store_options();
    options.marks = std::make_shared<MarksWithInterloper>(marks, std::move(before_the_claim));
    return leaf::Store(options);
  }

  leaf::Store admin = process();
  const leaf::WorkerRequest request{.owner = "a"};
  const leaf::WorkerLease lease = admin.acquire_worker(request);
  const std::string worker = "worker 0";
  const std::shared_ptr<leaf::GrantMarks> marks = leaf::host_marks(host_options());
};

}  // namespace

TEST_CASE("marks: a holder's window is not refused for what the same holder was leased beyond it meanwhile") {
  LeasedHost host;
  // By another thread, from a server that was started anew.
  leaf::Store one =
      host.process_that_is_late([&] { CHECK(host.claim("as it runs now", 1, host.mark().holder)); });
  CHECK(one.renew_worker(host.lease, host.request).begin == host.lease.end);
}

TEST_CASE("marks: a holder is refused what another copy leased to others, however often it asks") {
  LeasedHost host;
  // It looked while the mark was still its own.
  leaf::Store one = host.process_that_is_late([&] { CHECK(host.claim("another", 1, another)); });
  for (int i = 0; i < 3; ++i)
    CHECK(error_code([&] { one.renew_worker(host.lease, host.request); }) == ErrorCode::refused);
}

TEST_CASE("marks: what was refused to a holder is not lowered when it gives up what it has") {
  LeasedHost host;
  const std::int64_t end = host.mark().end;
  leaf::Store one = host.process_that_is_late([&] { CHECK(host.claim("another", 1, another)); });
  CHECK(error_code([&] { one.renew_worker(host.lease, host.request); }) == ErrorCode::refused);
  one.give_up_worker(host.lease, host.lease.begin);
  CHECK(host.mark().end > end);
}

TEST_CASE("marks: what a server leased before it was started anew is given back as well") {
  LeasedHost host;
  CHECK(host.claim("as it runs now", 100, host.mark().holder));
  CHECK(host.admin.release_worker(host.lease, host.lease.begin));
  CHECK(host.admin.acquire_worker({.owner = "b"}).begin < host.lease.end);
}

TEST_CASE("marks: what one holder gives back is free for the next one, also in the same process") {
  constexpr leaf::MarkHolder one = 1;
  MarkingHost host;
  const auto marks = leaf::host_marks(host.host_options());
  const std::string worker = "worker 0";
  CHECK(marks->claim({.deployment = "d", .copy = "before it was started anew"}, worker, {0, 100}, one));
  marks->lower("d", worker, 50, one);
  CHECK(marks->claim({.deployment = "d", .copy = "as it runs now"}, worker, {50, 80}, another));
}

TEST_CASE("marks: to look at one makes no folder") {
  MarkingHost host;
  CHECK(leaf::host_marks(host.host_options())->highest("d", "worker 0") == 0);
  CHECK_FALSE(fs::exists(host.run));
}

TEST_CASE("marks: to give back what lies above a mark raises it not") {
  constexpr leaf::MarkHolder one = 1;
  MarkingHost host;
  const auto marks = leaf::host_marks(host.host_options());
  const leaf::StoreIdentity store{.deployment = "d", .copy = "c"};
  CHECK(marks->claim(store, "worker 0", {0, 100}, one));
  marks->lower(store.deployment, "worker 0", 150, one);
  CHECK(marks->highest(store.deployment, "worker 0") == 100);
}

TEST_CASE("marks: whoever gives up a worker unused leaves the mark of the one before") {
  MarkingHost host;
  leaf::Store admin = host.process();
  const leaf::WorkerLease before = admin.acquire_worker({.owner = "b"});
  CHECK(admin.release_worker(before, before.end));
  host.clock.advance(before.end - before.begin);
  const leaf::WorkerLease lease = admin.acquire_worker({.owner = "a"});
  REQUIRE(lease.worker == before.worker);
  // It has drawn to here with another worker.
  CHECK(admin.give_up_worker(lease, before.begin));
  const auto marks = leaf::host_marks(host.host_options());
  CHECK(marks->highest(lease.store.deployment, "worker 0") >= before.end.time_since_epoch().count());
}

TEST_CASE("marks: whoever is refused lowers nothing below what another copy leased") {
  MarkingHost host;
  leaf::Store admin = host.process();
  const auto marks = leaf::host_marks(host.host_options());
  const std::string deployment = admin.identity().deployment;
  auto options = host.store_options();
  std::int64_t leased_by_other = 0;
  options.marks = std::make_shared<MarksWithInterloper>(marks, [&] {
    const auto now =
        std::chrono::floor<std::chrono::milliseconds>(host.clock.now()).time_since_epoch().count();
    leased_by_other = now + 60'000;  // within the window that is about to be refused
    CHECK(marks->claim({.deployment = deployment, .copy = "another"}, "worker 0", {now, leased_by_other},
                       another));
  });
  leaf::Store one(options);
  CHECK(error_code([&] { one.acquire_worker({.owner = "b"}); }) == ErrorCode::refused);
  CHECK(marks->highest(deployment, "worker 0") >= leased_by_other);
}

TEST_CASE("marks: of copies with different layouts that lease first at the same moment, one is refused") {
  MarkingHost host;
  leaf::Store admin = host.process();
  CopyOfStore copy(host);
  leaf::Store other = copy.process();
  other.set_layout(leaf::Layout::parse("sonyflake"));
  auto options = host.store_options();
  options.marks = std::make_shared<MarksWithInterloper>(
      leaf::host_marks(host.host_options()), nullptr, nullptr,
      [&] { CHECK_NOTHROW(other.acquire_worker({.owner = "b", .worker = 1})); });
  leaf::Store one(options);
  CHECK(error_code([&] { one.acquire_worker({.owner = "a"}); }) == ErrorCode::refused);
  CHECK_NOTHROW(other.acquire_worker({.owner = "c"}));
}

TEST_CASE("marks: a process knows its layout also where the folder was emptied, and tells the others") {
  constexpr leaf::MarkHolder one_layout = 1, another_layout = 2;
  MarkingHost host;
  const auto own = leaf::host_marks(host.host_options()), others = leaf::host_marks(host.host_options());
  CHECK(own->settle("d", leaf::mark_of_layout, one_layout) == one_layout);
  fs::remove_all(host.run);
  SUBCASE("before anybody settles one") {
    CHECK(own->mark("d", leaf::mark_of_layout).holder == one_layout);
    CHECK(others->settle("d", leaf::mark_of_layout, another_layout) == one_layout);
  }
  SUBCASE("after others have settled another") {
    CHECK(others->settle("d", leaf::mark_of_layout, another_layout) == another_layout);
    CHECK(own->settle("d", leaf::mark_of_layout, another_layout) == one_layout);
    CHECK(own->settle("d", leaf::mark_of_layout, one_layout) == another_layout);
  }
}

TEST_CASE("marks: more copies than there is room for are told apart from those that granted last") {
  MarkingHost host;
  leaf::Store admin = host.process();
  leaf::test::add_tag(admin, "order", 10);
  const auto marks = leaf::host_marks(host.host_options());
  const std::string deployment = admin.identity().deployment;
  const std::string subject = "tag order";
  const auto claim = [&](const std::string& copy, std::int64_t lo) {
    return marks->claim({.deployment = deployment, .copy = copy}, subject, {lo, lo + 10});
  };
  for (std::int64_t i = 0; i < 20; ++i) CHECK(claim("copy " + std::to_string(i), 1 + 10 * i));
  CHECK_FALSE(claim("copy 0", 191));
  CHECK_FALSE(claim("copy 20", 191));
  CHECK(claim("copy 20", 211));
}
