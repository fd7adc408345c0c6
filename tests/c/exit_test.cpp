#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "c/c_store.hpp"
#include "support/process.hpp"
#include "support/sanitized.hpp"

using leaf::test::add_tag;
using leaf::test::CStore;

namespace {

constexpr int draws = 3;
// A child draws too, from threads of its own.
constexpr int processes = leaf::test::children_of_threads_hang ? 1 : 2;

leaf_allocator* allocator;
leaf_tag* tag;
leaf_generator* generator;

void draw_at_exit() {
  leaf_tag* const late = leaf_allocator_tag(allocator, "late", nullptr);
  for (int i = 0; i < draws; ++i) {
    leaf_error* error = nullptr;
    std::int64_t id = 0;
    if (leaf_tag_next(tag, &id, &error) == LEAF_OK) std::printf("tag %lld\n", static_cast<long long>(id));
    if (leaf_tag_next(late, &id, &error) == LEAF_OK) std::printf("late %lld\n", static_cast<long long>(id));
    if (leaf_generator_next(generator, &id, &error) == LEAF_OK)
      std::printf("snowflake %lld\n", static_cast<long long>(id));
    if (error != nullptr) std::printf("failed: %s\n", leaf_error_text(error));
    leaf_error_free(error);
  }
  leaf_tag_close(late);
  std::fflush(stdout);
}

}  // namespace

TEST_CASE("exit apart: with a handler that draws" * doctest::skip()) {
  leaf_options options{};
  options.size = sizeof options;
  options.use_host_defaults = LEAF_NO;
  options.store = std::getenv("TEST_EXIT_URL");
  options.runtime_dir = std::getenv("TEST_EXIT_FOLDER");
  options.worker_name = "here";
  REQUIRE(options.store != nullptr);
  // Before the library is first used, and so after all that goes when the process ends.
  REQUIRE(std::atexit(&draw_at_exit) == 0);
  allocator = leaf_allocator_open(&options, nullptr);
  tag = leaf_allocator_tag(allocator, "order", nullptr);
  generator = leaf_generator_open(&options, nullptr);
  REQUIRE(generator != nullptr);
  if (processes > 1) {
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    waitpid(child, nullptr, 0);
  }
  std::exit(0);
}

TEST_CASE("C: a handler at exit draws, also one that was there before the library was used, and in a child") {
  CStore store;
  for (const char* name : {"order", "late"}) add_tag(store.admin, name, 100);
  setenv("TEST_EXIT_URL", store.url.c_str(), 1);
  int refused = 0, buffered = 0;
  SUBCASE("from the host's buffer") {
    setenv("TEST_EXIT_FOLDER", store.run.c_str(), 1);
    std::int64_t first = 0;
    const auto allocator_here = store.allocator();
    REQUIRE(leaf_tag_next(CStore::tag(allocator_here, "late").get(), &first, nullptr) == LEAF_OK);
    buffered = processes * draws;
  }
  SUBCASE("from their own") {
    unsetenv("TEST_EXIT_FOLDER");
    refused = (processes - 1) * draws;  // the parent's worker makes none in the child
  }
  const auto wanted = static_cast<std::size_t>(3 * processes * draws - refused);
  std::istringstream output(leaf::test::run(
      {std::filesystem::read_symlink("/proc/self/exe").string(), "--no-skip", "--test-case=exit apart*"}));
  std::set<std::string> ids;
  for (std::string line; std::getline(output, line);) {
    CAPTURE(line);
    if (line.starts_with("failed: ")) {
      CHECK(line == "failed: the worker of this generator is held by the process that was forked");
      --refused;
    }
    if (line.starts_with("tag ") || line.starts_with("late ") || line.starts_with("snowflake "))
      CHECK(ids.insert(line).second);
  }
  CHECK(refused == 0);
  CHECK(ids.size() == wanted);
  for (int i = 0; i < buffered; ++i) CHECK(ids.contains("late " + std::to_string(2 + i)));
}
