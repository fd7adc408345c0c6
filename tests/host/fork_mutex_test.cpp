#include "host/fork_mutex.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "support/error_of.hpp"
#include "support/number_of_parent.hpp"
#include "support/sanitized.hpp"

using leaf::ErrorCode;
using leaf::host::ForkMutex;
using leaf::test::error_code;

namespace {

constexpr unsigned patience_s = 20;

enum Answer : int { locked, refused, failed };

/// What a child is told that locks `mutex` and lets it go, twice; -1 if it waits without end.
int answer_in_child(ForkMutex& mutex) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(patience_s);
    Answer answer = failed;
    try {
      for (int i = 0; i < 2; ++i) const std::lock_guard lock(mutex);
      answer = locked;
    } catch (const leaf::Error& error) {
      answer = error.code() == ErrorCode::failed ? refused : failed;
    }
    _exit(answer);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("fork mutex: one thread at a time has it, whoever waits") {
  ForkMutex mutex;
  int count = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 20'000; ++j) {
          const std::lock_guard lock(mutex);
          ++count;
        }
      });
    }
  }
  CHECK(count == 80'000);
}

TEST_CASE("fork mutex: who is late goes without it, and leaves it to the others") {
  ForkMutex mutex;
  std::unique_lock lock(mutex);
  bool is_taken = true;
  std::thread([&] { is_taken = mutex.lock_unless([] { return true; }); }).join();
  CHECK_FALSE(is_taken);
  lock.unlock();
  std::thread([&] {
    is_taken = mutex.lock_unless([] { return true; });
    mutex.unlock();
  }).join();
  CHECK(is_taken);
}

TEST_CASE("fork mutex: a child is told that a thread of its parent had it, whatever their numbers") {
  ForkMutex mutex;
  std::optional<leaf::test::NumberOfParent> alike;
  SUBCASE("of its own number") {}
  SUBCASE("of its parent's") {
    alike.emplace();
  }
  {
    const std::lock_guard lock(mutex);
    CHECK(answer_in_child(mutex) == refused);
  }
  CHECK(answer_in_child(mutex) == locked);
}

TEST_CASE("fork mutex: no child waits without end, whenever it is forked" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  ForkMutex mutex;
  std::atomic<bool> is_over{false};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!is_over) {
        const std::lock_guard lock(mutex);
      }
    });
  }
  int waiting = 0, wrong = 0;
  for (int i = 0; i < 1'000 && waiting == 0; ++i) {
    const int answer = answer_in_child(mutex);
    if (answer == -1) ++waiting;
    if (answer == failed) ++wrong;
  }
  is_over = true;
  CHECK(waiting == 0);
  CHECK(wrong == 0);
}
