#include <dlfcn.h>
#include <doctest/doctest.h>
#include <netdb.h>
#include <pthread.h>
#include <resolv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "store/fork_guard.hpp"
#include "store/postgresql/resolver.hpp"
#include "support/sanitized.hpp"
#include "support/wait_for.hpp"

using leaf::store::postgresql::resolve;
namespace fork_guard = leaf::store::fork_guard;
using std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds patience{20};  // far more than a look-up in /etc/hosts takes

std::atomic<bool> waits_for_fork{false};   // the next look-up
std::atomic<bool> is_inside{false};        // of the system's resolver
std::atomic<bool> handles_signals{false};  // a thread that looked up a name
std::atomic<int> ended{0},
    holding{0};  // threads that looked up names, and what their ends give back under a lock

/// Goes with a thread, before the system's resolver has its turn.
struct ThreadEnd {
  ~ThreadEnd() {
    if (_res.nscount != 0) ++holding;
    ++ended;
  }
};

/// As the driver has it.
void guard_forks() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(
        &fork_guard::before_fork, [] { fork_guard::after_fork(/*is_child=*/false); },
        [] { fork_guard::after_fork(/*is_child=*/true); });
  });
}

bool finds_localhost() {
  return resolve({.hosts = "localhost", .addresses = "", .ports = "5432"}, steady_clock::now() + patience)
      .is_anybody_left;
}

/// Status of a child that does `work`.
template <typename Work>
int status_of_child(Work work) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(static_cast<unsigned>(2 * patience.count()));
    _exit(work() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

/// In the place of the system's.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  static thread_local const ThreadEnd thread_end;
  static_cast<void>(thread_end);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  if (sigismember(&blocked, SIGTERM) == 0) handles_signals = true;
  if (waits_for_fork.exchange(false)) {
    is_inside = true;
    const auto latest = steady_clock::now() + patience;
    while (!fork_guard::is_wanted() && steady_clock::now() < latest) std::this_thread::yield();
    // A fork that does not wait is over before; one that does waits for 100 ms at most, however busy the
    // machine.
    const auto leaves_at = steady_clock::now() + std::chrono::milliseconds(20);
    while (fork_guard::is_wanted() && steady_clock::now() < leaves_at) std::this_thread::yield();
    is_inside = false;
  }
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(name, service, hints, found);
}

TEST_CASE("resolver: a thread that looked up a name takes no lock of the system's at its end") {
  const int before = ended;
  CHECK(finds_localhost());
  REQUIRE(leaf::test::wait_for([&] { return ended > before; }));
  CHECK(holding == 0);
}

TEST_CASE("resolver: a thread that looks up a name handles no signals, and who starts it goes on as before") {
  CHECK(finds_localhost());
  CHECK_FALSE(handles_signals);
  sigset_t blocked;
  REQUIRE(pthread_sigmask(SIG_SETMASK, nullptr, &blocked) == 0);
  CHECK(sigismember(&blocked, SIGTERM) == 0);
}

TEST_CASE("resolver: a child that is forked while other threads look up names can look up one" *
          doctest::skip(leaf::test::children_of_threads_hang)) {
  guard_forks();
  constexpr int forks = 1000;
  std::atomic<bool> is_over{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (!is_over) finds_localhost();
    });
  }
  int status = 0;
  for (int i = 0; i < forks && status == 0; ++i) status = status_of_child(&finds_localhost);
  is_over = true;
  for (std::thread& other : others) other.join();
  CHECK(status == 0);
}

TEST_CASE("resolver: a fork waits until a look-up has left the system's resolver" *
          doctest::skip(leaf::test::children_start_no_threads)) {
  guard_forks();
  waits_for_fork = true;
  std::thread other([] { CHECK(finds_localhost()); });
  while (!is_inside) std::this_thread::yield();
  CHECK(status_of_child([] { return !is_inside && finds_localhost(); }) == 0);
  other.join();
}

TEST_CASE("resolver: a fork waits for a look-up that takes long only for a moment" *
          doctest::skip(leaf::test::children_start_no_threads)) {
  guard_forks();
  std::atomic<bool> is_held{false}, is_over{false};
  std::thread slow([&] {
    const auto latest = steady_clock::now() + patience;
    const fork_guard::HoldBriefly no_fork;
    is_held = true;
    while (!is_over && steady_clock::now() < latest) std::this_thread::yield();
    is_held = false;
  });
  while (!is_held) std::this_thread::yield();
  CHECK(status_of_child(&finds_localhost) == 0);
  CHECK(is_held);
  // Nor does it keep others from looking up names afterwards.
  CHECK(finds_localhost());
  is_over = true;
  slow.join();
  CHECK(status_of_child(&finds_localhost) == 0);
}
