#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/number_of_parent.hpp"
#include "support/process.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::TestDatabase;

namespace {

/// How many children to make; the soak makes more.
int trials(int usual) {
  const char* const more = std::getenv("TEST_FORKS");
  return more == nullptr ? usual : std::stoi(more);
}

constexpr unsigned patience_s = 60;  // of a child that waits for what nobody unlocks

void log_in_once(const std::string& url) {
  leaf::Store({.url = url, .timeout = std::chrono::seconds(30)}).identity();
}

}  // namespace

TEST_CASE("exit apart: with threads that log in" * doctest::skip()) {
  const char* const url = std::getenv("TEST_EXIT_URL");
  REQUIRE(url != nullptr);
  alarm(patience_s);
  for (int i = 0; i < 3; ++i) {
    std::thread([url = std::string(url)] {
      while (true) {
        try {
          log_in_once(url);
        } catch (const leaf::Error&) {
          // It is ending.
        }
      }
    }).detach();
  }
  log_in_once(url);
  std::exit(0);
}

TEST_CASE("exit apart: with a thread whose libraries read their settings" * doctest::skip()) {
  const char* const url = std::getenv("TEST_EXIT_URL");
  REQUIRE(url != nullptr);
  alarm(patience_s);
  const char* const settings = std::getenv("TEST_EXIT_SETTINGS");
  REQUIRE(settings != nullptr);
  // Libraries read them in the midst of their beginning, and wait for whoever writes them.
  std::filesystem::remove(settings);
  REQUIRE(mkfifo(settings, 0600) == 0);
  std::thread([url = std::string(url)] {
    try {
      log_in_once(url);
    } catch (const leaf::Error&) {
      // It is ending.
    }
  }).detach();
  const int let_go = open(settings, O_WRONLY | O_CLOEXEC);
  std::filesystem::remove(settings);  // it may be read again
  std::ofstream(settings).close();
  close(let_go);
  std::exit(0);
}

TEST_CASE("exit apart: with a call at its end" * doctest::skip()) {
  static leaf::Store& store = *new leaf::Store({.url = std::getenv("TEST_EXIT_URL")});
  // Before the driver's handlers, and so called after them.
  std::atexit([] { _exit(static_cast<int>(error_of([] { store.tags(); }).code())); });
  store.tags();
  std::exit(0);
}

TEST_CASE("postgresql: a program that exits while threads log in ends with its own status") {
  TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();
  setenv("TEST_EXIT_URL", database.url().c_str(), 1);
  // What is open stays so, which is a leak to a sanitizer.
  const char* const options = std::getenv("ASAN_OPTIONS");
  setenv("ASAN_OPTIONS", (std::string(options == nullptr ? "" : options) + ":detect_leaks=0").c_str(), 1);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto crashed = [&](const std::string& what) {
    int crashes = 0;
    for (int i = 0; i < trials(60); ++i) {
      leaf::test::Process process({program, "--no-skip", "--test-case=exit apart: " + what});
      if (process.wait() != 0) ++crashes;
    }
    return crashes;
  };
  CHECK(crashed("with threads that log in") == 0);
  const leaf::test::TemporaryFolder folder;
  const std::string settings = folder.path() / "settings";
  setenv("TEST_EXIT_SETTINGS", settings.c_str(), 1);
  for (const std::string name : {"OPENSSL_CONF", "KRB5_CONFIG"}) {
    CAPTURE(name);
    setenv(name.c_str(), settings.c_str(), 1);
    CHECK(crashed("with a thread whose libraries read their settings") == 0);
    unsetenv(name.c_str());
  }
}

TEST_CASE("postgresql: who asks for IDs while the program ends is told so, and not to wait") {
  TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();
  setenv("TEST_EXIT_URL", database.url().c_str(), 1);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  leaf::test::Process process({program, "--no-skip", "--test-case=exit apart: with a call at its end"});
  CHECK(process.wait() == static_cast<int>(leaf::ErrorCode::failed));
}

TEST_CASE("postgresql: a child that ends the store that it inherits leaves its parent's session") {
  TestDatabase database;
  auto store = std::make_unique<leaf::Store>(leaf::StoreOptions{.url = database.url()});
  store->migrate();
  const auto sessions = [&] {
    return database.sql().value(
        "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend'");
  };
  std::optional<leaf::test::NumberOfParent> alike;
  SUBCASE("with a PID of its own") {}
  SUBCASE("with its parent's") {
    alike.emplace();
  }
  const std::string before = sessions();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    store.reset();
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  store->identity();  // on a new one, if the former has ended
  CHECK(sessions() == before);
}

TEST_CASE("postgresql: a child that is forked while other threads connect can connect at once" *
          doctest::skip(leaf::test::children_of_threads_hang)) {  // its resolver's thread
  TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();
  const std::string url = database.url();
  std::atomic<bool> is_over{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (!is_over) log_in_once(url);
    });
  }
  const int forks = trials(300);
  int stuck = 0;
  for (int i = 0; i < forks && stuck == 0; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(patience_s);
      try {
        log_in_once(url);
      } catch (const leaf::Error&) {
        _exit(1);
      }
      _exit(0);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (status != 0) ++stuck;
  }
  is_over = true;
  for (std::thread& other : others) other.join();
  CHECK(stuck == 0);
}
