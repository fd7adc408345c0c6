#include "store/fork_generation.hpp"

#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "support/number_of_parent.hpp"
#include "support/sanitized.hpp"

using leaf::store::fork_generation;
using leaf::test::NumberOfParent;

namespace {

enum class Kernel { wipes, is_old, takes_any_advice };

Kernel kernel = Kernel::wipes;

/// How many threads wait for each other before any of them has memory that is wiped.
std::atomic<int> to_meet{0};

}  // namespace

/// In the place of the system's.
extern "C" int madvise(void* address, size_t size, int advice) noexcept {
  if (advice == MADV_WIPEONFORK && to_meet > 0) {
    --to_meet;
    while (to_meet > 0) sched_yield();
  }
  if (kernel == Kernel::takes_any_advice) return 0;
  if (kernel == Kernel::is_old && advice == MADV_WIPEONFORK) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(syscall(SYS_madvise, address, size, advice));
}

namespace {

/// Asked in a handler that was there before the library had one.
bool asks_early = false;
unsigned early = 0;
[[maybe_unused]] const int handled = pthread_atfork(nullptr, nullptr, [] {
  if (asks_early) early = fork_generation();
});

/// Whether `work()` is true in a child. Nobody else asks in this program: which way a process goes is decided
/// when it first does.
template <class Work>
bool in_child(const Work& work, pid_t (*fork_by)() = &fork) {
  const pid_t child = fork_by();
  REQUIRE(child >= 0);
  if (child == 0) _exit(work() ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

/// Whether a process, its child and grandchild that are made by `fork_by` tell each other apart.
bool are_told_apart(pid_t (*fork_by)()) {
  return in_child([&] {
    const unsigned own = fork_generation();
    return own != 0 &&
           in_child(
               [&] {
                 const unsigned childs = fork_generation();
                 return childs != own && childs == fork_generation() &&
                        in_child(
                            [&] {
                              const unsigned grandchilds = fork_generation();
                              return grandchilds != own && grandchilds != childs;
                            },
                            fork_by);
               },
               fork_by) &&
           own == fork_generation();
  });
}

}  // namespace

TEST_CASE("fork generation: a process, its child and grandchild are told apart, whatever their PIDs") {
  std::optional<NumberOfParent> alike;
  SUBCASE("of their own") {}
  SUBCASE("of the first's") {
    alike.emplace();
  }
  for (const Kernel each : {Kernel::wipes, Kernel::is_old, Kernel::takes_any_advice}) {
    CAPTURE(static_cast<int>(each));
    kernel = each;
    CHECK(are_told_apart(&fork));
  }
  kernel = Kernel::wipes;
}

TEST_CASE(
    "fork generation: so are those that run no handlers, by their PIDs where the kernel does not help") {
  for (const Kernel each : {Kernel::wipes, Kernel::is_old, Kernel::takes_any_advice}) {
    CAPTURE(static_cast<int>(each));
    kernel = each;
    CHECK(are_told_apart(&_Fork));
  }
  kernel = Kernel::wipes;
  const NumberOfParent alike;
  CHECK(are_told_apart(&_Fork));
}

TEST_CASE("fork generation: it stays the same, also where a handler had asked before the library's ran") {
  for (const Kernel each : {Kernel::wipes, Kernel::is_old}) {
    CAPTURE(static_cast<int>(each));
    kernel = each;
    CHECK(in_child([] {
      const unsigned own = fork_generation();
      asks_early = true;
      return in_child([&] { return early != own && early == fork_generation(); });
    }));
  }
  kernel = Kernel::wipes;
}

TEST_CASE("fork generation: threads that ask first, and at once, are told the same" *
          doctest::skip(leaf::test::children_start_no_threads)) {
  for (const Kernel each : {Kernel::wipes, Kernel::is_old}) {
    CAPTURE(static_cast<int>(each));
    kernel = each;
    for (int i = 0; i < 200; ++i) {
      CHECK(in_child([] {
        std::vector<unsigned> answers(2);
        to_meet = 2;
        {
          std::vector<std::jthread> threads;
          for (unsigned& answer : answers) {
            threads.emplace_back([&] { answer = fork_generation(); });
          }
        }
        return std::set<unsigned>(answers.begin(), answers.end()).size() == 1;
      }));
    }
  }
  kernel = Kernel::wipes;
}
