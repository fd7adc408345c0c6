// Files that the server is told to use, and what must not stall it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "leaf/error.hpp"
#include "serve/access_log.hpp"
#include "serve/file_content.hpp"
#include "serve/notices.hpp"
#include "serve/tls.hpp"
#include "serve/tokens.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace leafctl::serve;

constexpr std::chrono::seconds long_enough{10};

std::string new_pipe(const leaf::test::TemporaryFolder& folder) {
  const std::string pipe = (folder.path() / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  return pipe;
}

/// The failure of `act`, which `pipe` must not keep waiting.
std::string failure_at(const std::string& pipe, const std::function<void()>& act) {
  auto result = std::async(std::launch::async, [&]() -> std::string {
    try {
      act();
      return "none";
    } catch (const leaf::Error& error) {
      CHECK(error.code() == leaf::ErrorCode::usage);
      return error.what();
    }
  });
  if (result.wait_for(long_enough) == std::future_status::ready) return result.get();
  const int both_ends = open(pipe.c_str(), O_RDWR | O_NONBLOCK);
  result.wait_for(long_enough);
  close(both_ends);
  result.wait();
  return "it waited";
}

AccessLog::Entry entry_of(std::string_view remote) {
  return {.remote = remote, .method = "GET", .subject = "/some/path/or/other"};
}

/// Reads until `wanted` has come.
std::string read_until(int descriptor, const std::string& wanted) {
  std::string text;
  char block[4096];
  while (text.find(wanted) == std::string::npos) {
    const ssize_t count = read(descriptor, block, sizeof block);
    if (count <= 0) break;
    text.append(block, static_cast<std::size_t>(count));
  }
  return text;
}

bool holds(const std::string& file, const std::string& wanted) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str().find(wanted) != std::string::npos;
}

bool comes_about(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + long_enough;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

TEST_CASE("files: one that is no regular file is refused, and never waited for") {
  const leaf::test::TemporaryFolder folder;
  const std::string pipe = new_pipe(folder);
  CHECK(failure_at(pipe, [&] { read_file("file", pipe); }) == "file '" + pipe + "' is not a regular file");
  CHECK(failure_at(pipe, [&] { Tokens::read(pipe); }) == "token file '" + pipe + "' is not a regular file");
  CHECK(failure_at(pipe, [&] { TlsContext(pipe, pipe); }) ==
        "certificate '" + pipe + "' is not a regular file");
  CHECK_THROWS_AS(read_file("file", "/dev/null"), leaf::Error);
  CHECK_THROWS_AS(read_file("file", folder.path().string()), leaf::Error);
  CHECK_THROWS_AS(read_file("file", (folder.path() / "none").string()), leaf::Error);
  const std::string file = (folder.path() / "file").string();
  std::ofstream(file) << std::string(100'000, 'a');
  REQUIRE(chmod(file.c_str(), 0640) == 0);
  CHECK(read_file("file", file).text == std::string(100'000, 'a'));
  CHECK((read_file("file", file).mode & 0777) == 0640);
  constexpr std::uintmax_t greatest = 16UL << 20;
  std::filesystem::resize_file(file, greatest);
  CHECK(read_file("file", file).text.size() == greatest);
  std::filesystem::resize_file(file, greatest + 1);
  CHECK(failure_at(pipe, [&] { read_file("file", file); }) == "file '" + file + "' is larger than 16 MiB");
}

TEST_CASE("access log: a pipe that nobody reads is refused, and never waited for") {
  const leaf::test::TemporaryFolder folder;
  const std::string pipe = new_pipe(folder);
  const auto ignore = [](const std::string&) {};
  CHECK(failure_at(pipe, [&] { AccessLog(pipe, ignore); }) ==
        "cannot open access log '" + pipe + "': no process reads this pipe");
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  AccessLog log(pipe, ignore);
  REQUIRE(fcntl(reader, F_SETFL, 0) == 0);
  log.add(entry_of("one"));
  CHECK(read_until(reader, "\n").find("\"remote\":\"one\"") != std::string::npos);
  // One that goes on writes to the pipe of before.
  close(reader);
  CHECK(failure_at(pipe, [&] { log.open_again(); }) ==
        "cannot open access log '" + pipe + "': no process reads this pipe");
  const int other = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(fcntl(other, F_SETFL, 0) == 0);
  log.add(entry_of("two"));
  CHECK(read_until(other, "\n").find("\"remote\":\"two\"") != std::string::npos);
  close(other);
}

TEST_CASE("access log: a pipe whose reader has stopped is left for the file that takes its place") {
  const leaf::test::TemporaryFolder folder;
  const std::string pipe = new_pipe(folder);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  AccessLog log(pipe, [](const std::string&) {});
  // Without a reader the log ends whatever it waits for.
  const std::shared_ptr<const int> closes_reader(&reader, [](const int* descriptor) { close(*descriptor); });
  // More than a pipe takes.
  for (int i = 0; i < 2000; ++i) log.add(entry_of("one"));
  REQUIRE(rename(pipe.c_str(), (pipe + ".away").c_str()) == 0);
  log.open_again();
  log.add(entry_of("two"));
  CHECK(comes_about([&] { return holds(pipe, "\"remote\":\"two\""); }));
  CHECK(log.lost() > 0);
}

TEST_CASE("access log: what is more than it holds is left out, counted, and told once it is read again") {
  const leaf::test::TemporaryFolder folder;
  const std::string pipe = new_pipe(folder);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(fcntl(reader, F_SETFL, 0) == 0);
  const std::string path(1 << 20, 'a');
  AccessLog log(pipe, [](const std::string&) {});
  std::uint64_t lost = 0;
  {
    const std::shared_ptr<const int> closes_reader(&reader,
                                                   [](const int* descriptor) { close(*descriptor); });
    // The writer has taken at most what came before it met the full pipe.
    int added = 0;
    for (; log.lost() < 3 && added < 1000; ++added)
      log.add({.remote = "unix", .method = "GET", .subject = path});
    CHECK(added > 9);
    CHECK(added < 40);
    lost = log.lost();
    const std::string read = read_until(reader, "\"left_out\":3}\n");
    CHECK(read.find("\"left_out\":3}\n") != std::string::npos);
    CHECK(std::count(read.begin(), read.end(), '\n') == added - 3 + 1);
    log.add(entry_of("after"));
    CHECK(read_until(reader, "\"after\"").find("\"after\"") != std::string::npos);
  }
  CHECK(lost == 3);
  CHECK(log.lost() == 3);
}

TEST_CASE("notices: who says one may take for ever, and nobody waits for it") {
  std::promise<void> may_go_on;
  std::string said;
  {
    Notices notices;
    notices.add([&, go_on = may_go_on.get_future().share()] {
      CHECK(go_on.wait_for(long_enough) == std::future_status::ready);
      said += "first ";
    });
    notices.add([&] { said += "second"; });
    may_go_on.set_value();
  }
  CHECK(said == "first second");
}
