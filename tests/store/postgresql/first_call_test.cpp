#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstring>
#include <string>
#include <thread>

#include "leaf/leaf.h"
#include "leaf/store.hpp"
#include "support/sanitized.hpp"
#include "support/sqlite_store.hpp"
#include "support/test_database.hpp"

using std::chrono::steady_clock;

namespace {

constexpr unsigned patience_s = 40;  // of a child that waits for a thread which it does not have

std::atomic<bool> holds_next{false};  // whoever comes to a held place next stays there
std::atomic<bool> is_held{false};
std::atomic<bool> forks{false};

/// A place that a thread is in while another one forks. A fork that waits for it is let go on.
void held_place() {
  if (!holds_next.exchange(false)) return;
  is_held = true;
  while (!forks) std::this_thread::yield();
  // A fork that does not wait is over before.
  const auto leaves_at = steady_clock::now() + std::chrono::milliseconds(50);
  while (steady_clock::now() < leaves_at) std::this_thread::yield();
}

/// Status of a child that does `work`.
template <typename Work>
int status_of_child(Work work) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(patience_s);
    _exit(work() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

/// In a process that has done nothing yet: whether `call` succeeds in a child that is forked while a thread
/// makes the same call, the first one of all.
template <typename Call>
bool succeeds_in_a_child_of_the_first_call(Call call) {
  return status_of_child([&] {
           call(/*prepares=*/true);
           // The last one that is registered is called first.
           pthread_atfork([] { forks = true; }, nullptr, nullptr);
           holds_next = true;
           std::thread first([&] { call(false); });
           while (!is_held) std::this_thread::yield();
           const int status = status_of_child([&] { return call(false); });
           first.join();
           return status == 0;
         }) == 0;
}

leaf_options options_of(const char* store, const char* folder) {
  leaf_options options{};
  options.size = sizeof options;
  options.use_host_defaults = LEAF_NO;
  options.store = store;
  options.runtime_dir = folder;
  return options;
}

}  // namespace

/// In the place of the system's.
extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (std::strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) held_place();
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

/// In the place of OpenSSL's.
extern "C" __attribute__((visibility("default"))) int OPENSSL_atexit(void (*handler)()) {
  held_place();
  using Function = int (*)(void (*)());
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, "OPENSSL_atexit"))(handler);
}

TEST_CASE("first call: a child that is forked while a thread finds out which boot this is can draw" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  const leaf::test::SqliteStore store;
  leaf::Store opened = store.open();
  leaf::test::add_tag(opened, "order", 100);
  const leaf::test::TemporaryFolder folder;
  const std::string url = store.options().url, run = (folder.path() / "run").string();
  leaf_allocator* allocator = nullptr;
  CHECK(succeeds_in_a_child_of_the_first_call([&](bool prepares) {
    if (prepares) {
      const leaf_options options = options_of(url.c_str(), run.c_str());
      allocator = leaf_allocator_open(&options, nullptr);
      return allocator != nullptr;
    }
    leaf_tag* const tag = leaf_allocator_tag(allocator, "order", nullptr);
    std::int64_t id = 0;
    return tag != nullptr && leaf_tag_next(tag, &id, nullptr) == LEAF_OK;
  }));
}

TEST_CASE("first call: a child that is forked while a thread has libpq begin can connect" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  leaf::test::TestDatabase database;
  const std::string url = database.url();
  REQUIRE(status_of_child([&] {
            leaf::Store({.url = url}).migrate();
            return true;
          }) == 0);
  leaf_store* store = nullptr;
  CHECK(succeeds_in_a_child_of_the_first_call([&](bool prepares) {
    if (prepares) {
      const leaf_options options = options_of(url.c_str(), nullptr);
      store = leaf_store_open(&options, nullptr);
      return store != nullptr;
    }
    leaf_tag_list* const tags = leaf_store_tags(store, nullptr);
    leaf_tag_list_free(tags);
    return tags != nullptr;
  }));
}
