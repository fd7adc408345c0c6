#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "c/c_store.hpp"
#include "support/sanitized.hpp"
#include "support/working_folder.hpp"

using leaf::test::add_tag;
using leaf::test::CStore;
using leaf::test::Failure;

namespace {

constexpr int children = 6;
constexpr std::size_t ids_of_each = 3000;
constexpr std::size_t most_ids_of_parent = 100'000;  // where children are slow, as under a sanitizer

using Ids = std::vector<std::int64_t>;

/// A child that draws with `draw` until it has its IDs, and what it writes them to.
class Child {
 public:
  template <class Draw>
  explicit Child(const Draw& draw) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    process_ = fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      close(ends[0]);
      Ids ids(ids_of_each);
      bool is_good = true;
      for (std::int64_t& id : ids) is_good = is_good && draw(id) == LEAF_OK;
      const auto size = static_cast<ssize_t>(ids.size() * sizeof ids[0]);
      const auto* from = reinterpret_cast<const char*>(ids.data());
      for (ssize_t written = 0, now = 0; is_good && written < size; written += now) {
        now = write(ends[1], from + written, static_cast<std::size_t>(size - written));
        if (now <= 0) is_good = false;
      }
      _exit(is_good ? 0 : 1);
    }
    close(ends[1]);
    pipe_ = ends[0];
  }

  /// What it has drawn; it has ended then.
  Ids ids() {
    Ids result(ids_of_each);
    auto* const to = reinterpret_cast<char*>(result.data());
    std::size_t got = 0;
    for (ssize_t now = 0; (now = read(pipe_, to + got, result.size() * sizeof result[0] - got)) > 0;)
      got += static_cast<std::size_t>(now);
    close(pipe_);
    int status = -1;
    REQUIRE(waitpid(process_, &status, 0) == process_);
    CHECK(status == 0);
    CHECK(got == result.size() * sizeof result[0]);
    result.resize(got / sizeof result[0]);
    return result;
  }

 private:
  pid_t process_ = -1;
  int pipe_ = -1;
};

/// Forks while a thread of this process draws too, and checks that no ID came twice, and each process's in
/// order.
template <class Draw>
void draw_before_and_after_forks(const Draw& draw) {
  std::set<std::int64_t> all;
  const auto add = [&](const Ids& ids) {
    for (std::size_t i = 1; i < ids.size(); ++i) REQUIRE(ids[i] > ids[i - 1]);
    for (const std::int64_t id : ids) REQUIRE(all.insert(id).second);
  };
  Ids before(10);
  for (std::int64_t& id : before) REQUIRE(draw(id) == LEAF_OK);
  add(before);

  Ids own;
  std::jthread other([&](const std::stop_token& end) {
    std::int64_t id = 0;
    while (!end.stop_requested() && own.size() < most_ids_of_parent && draw(id) == LEAF_OK) own.push_back(id);
  });
  std::vector<Child> forked;
  forked.reserve(children);
  for (int i = 0; i < children; ++i) forked.emplace_back(draw);
  for (Child& child : forked) add(child.ids());
  other.request_stop();
  other.join();
  add(own);
}

}  // namespace

TEST_CASE("C: children go on with the tag that their parent opened, from the host's buffer or their own" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  CStore store;
  add_tag(store.admin, "order", 100);
  leaf_options options = store.options();
  SUBCASE("the host's") {}
  SUBCASE("their own") {
    options = store.options_of_one_process();
  }
  const auto allocator = CStore::allocator(options);
  const auto tag = CStore::tag(allocator, "order");
  draw_before_and_after_forks([&](std::int64_t& id) { return leaf_tag_next(tag.get(), &id, nullptr); });
}

TEST_CASE("C: children go on with the generator that their parent opened, from the host's buffer" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  CStore store;
  const auto generator = store.generator();
  draw_before_and_after_forks(
      [&](std::int64_t& id) { return leaf_generator_next(generator.get(), &id, nullptr); });
  CHECK(store.admin.workers().size() == 1);
}

TEST_CASE("C: a worker that the parent holds for itself is none of its children's" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  CStore store;
  const auto generator = CStore::generator(store.options_of_one_process());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Failure failure;
    std::int64_t id = 0;
    if (leaf_generator_next(generator.get(), &id, failure.place()) != LEAF_FAILED) _exit(1);
    if (failure.hint() != "open the generator after the fork, or use the host's buffer") _exit(2);
    leaf_options options = store.options_of_one_process();
    options.worker_name = "child";
    _exit(leaf_generator_next(CStore::generator(options).get(), &id, nullptr) == LEAF_OK ? 0 : 3);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  std::int64_t id = 0;
  CHECK(leaf_generator_next(generator.get(), &id, nullptr) == LEAF_OK);
}

namespace {

/// Registered before any handle is opened, and run before main() for that.
struct DrawsInChild {
  DrawsInChild() {
    pthread_atfork(nullptr, nullptr, [] {
      if (leaf_tag* const tag = std::exchange(drawn_from, nullptr)) status = leaf_tag_next(tag, &id, nullptr);
    });
  }
  static inline leaf_tag* drawn_from = nullptr;
  static inline std::int64_t id = 0;
  static inline leaf_status status = LEAF_FAILED;
} draws_in_child;

}  // namespace

TEST_CASE("C: a handler of the program's own that draws in the child draws what nobody else does" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  CStore store;
  add_tag(store.admin, "order", 100);
  const auto allocator = CStore::allocator(store.options_of_one_process());
  const auto tag = CStore::tag(allocator, "order");
  std::int64_t id = 0;
  REQUIRE(leaf_tag_next(tag.get(), &id, nullptr) == LEAF_OK);
  DrawsInChild::drawn_from = tag.get();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(DrawsInChild::status == LEAF_OK && DrawsInChild::id > 100 ? 0 : 1);
  DrawsInChild::drawn_from = nullptr;
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("C: a child stays with the store and the folder that its parent named, wherever it goes" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  CStore store;
  add_tag(store.admin, "order", 1);
  const leaf::test::TemporaryFolder elsewhere;
  const leaf::test::WorkingFolder here(store.home.path());
  std::filesystem::create_symlink(store.file.path(), "ids.db");
  leaf_options options = store.options();
  options.store = "sqlite:ids.db";
  options.runtime_dir = "run";
  SUBCASE("with the host's buffer") {}
  SUBCASE("without it") {
    options.host_buffer = LEAF_NO;
  }
  const auto allocator = CStore::allocator(options);
  const auto tag = CStore::tag(allocator, "order");
  std::int64_t id = 0;
  REQUIRE(leaf_tag_next(tag.get(), &id, nullptr) == LEAF_OK);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::filesystem::current_path(elsewhere.path());
    for (int i = 0; i < 10; ++i) {
      const std::int64_t before = id;
      if (leaf_tag_next(tag.get(), &id, nullptr) != LEAF_OK || id <= before) _exit(1);
    }
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(std::filesystem::is_empty(elsewhere.path()));
}

TEST_CASE("C: a child whose variables lead libpq elsewhere is refused" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  leaf_options options{};
  options.size = sizeof options;
  options.store = "postgresql://";
  options.timeout_ms = 60'000;
  SUBCASE("by the host's defaults") {}
  SUBCASE("without them") {
    options.use_host_defaults = LEAF_NO;
  }
  options.host_buffer = LEAF_NO;
  const auto allocator = CStore::allocator(options);
  const auto tag = CStore::tag(allocator, "order");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    setenv("PGDATABASE", "another", 1);
    std::int64_t id = 0;
    Failure failure;
    leaf_tag_next(tag.get(), &id, failure.place());
    _exit(failure.text() == "the variable PGDATABASE has changed since this program named the store" ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("C: a child that runs no handlers does not draw what its parent has in memory") {
  CStore store;
  add_tag(store.admin, "order", 100);
  const auto allocator = CStore::allocator(store.options_of_one_process());
  const auto tag = CStore::tag(allocator, "order");
  std::int64_t id = 0;
  REQUIRE(leaf_tag_next(tag.get(), &id, nullptr) == LEAF_OK);
  const pid_t child = _Fork();
  REQUIRE(child >= 0);
  // Nothing that could wait for a lock, which another thread may have held at the fork.
  if (child == 0) _exit(leaf_tag_try_next(tag.get(), &id) == 0 ? 0 : 1);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(leaf_tag_try_next(tag.get(), &id) != 0);
}

TEST_CASE("C: a generator that was prepared waits for no store, and means what was said then") {
  CStore store;
  const leaf::test::TemporaryFolder elsewhere;
  const std::string path = store.file.path();
  const std::string relative = "sqlite:" + std::filesystem::path(path).filename().string();
  leaf_options options = store.options_of_one_process();
  options.store = relative.c_str();
  CStore::Generator generator;
  {
    const leaf::test::WorkingFolder there(std::filesystem::path(path).parent_path());
    generator.reset(leaf_generator_prepare(&options, nullptr));
  }
  REQUIRE(generator != nullptr);
  CHECK(store.admin.workers().empty());
  std::int64_t id = 0, worker = -1;
  CHECK(leaf_generator_try_next(generator.get(), &id) == 0);
  // Nothing was leased that the child could not use.
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(leaf_generator_next(generator.get(), &id, nullptr));
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  const leaf::test::WorkingFolder here(elsewhere.path());
  CHECK(leaf_generator_worker(generator.get(), &worker, nullptr) == LEAF_OK);
  CHECK(store.admin.workers().size() == 2);  // with that of the child
  CHECK(leaf_generator_next(generator.get(), &id, nullptr) == LEAF_OK);

  options.store = "sqlite:/nowhere/leaf.db";
  options.timeout_ms = -1;
  const CStore::Generator lost(leaf_generator_prepare(&options, nullptr));
  REQUIRE(lost != nullptr);
  Failure failure;
  CHECK(leaf_generator_worker(lost.get(), &worker, failure.place()) != LEAF_OK);
  CHECK(failure.text().find("does not exist") != std::string::npos);
  options.worker_name = "";
  options.layout = "none";
  CHECK(leaf_generator_prepare(&options, failure.place()) == nullptr);
  CHECK(failure.status() == LEAF_USAGE);
}
