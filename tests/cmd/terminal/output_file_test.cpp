#include "terminal/output_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "terminal/interrupt.hpp"

using leafctl::OutputFile;

namespace {

/// A pipe that holds one page, so that most writes have to wait for its reader.
class NarrowPipe {
 public:
  explicit NarrowPipe(int flags = 0) {
    REQUIRE(pipe2(ends_, O_CLOEXEC) == 0);
    REQUIRE(fcntl(ends_[1], F_SETPIPE_SZ, 4096) > 0);
    REQUIRE(fcntl(ends_[1], F_SETFL, flags) == 0);
  }
  ~NarrowPipe() {
    close_reader();
    close_writer();
  }
  NarrowPipe(const NarrowPipe&) = delete;
  NarrowPipe& operator=(const NarrowPipe&) = delete;

  int writer() const { return ends_[1]; }
  void close_reader() { close_end(ends_[0]); }
  void close_writer() { close_end(ends_[1]); }
  /// At most `size` bytes; empty at the end.
  std::string read_some(std::size_t size) const {
    std::string text(size, '\0');
    const ssize_t count = read(ends_[0], text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
  }
  std::string read_all() const {
    std::string text;
    for (std::string part = read_some(1000); !part.empty(); part = read_some(1000)) text += part;
    return text;
  }

 private:
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  int ends_[2] = {-1, -1};
};

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + "\n";
  return text;
}

/// Writes `text` in a thread of its own and returns what came through.
std::string through(NarrowPipe& pipe, const std::string& text) {
  std::thread writing([&] {
    OutputFile(pipe.writer(), "the pipe").write(text);
    pipe.close_writer();
  });
  std::string read = pipe.read_all();
  writing.join();
  return read;
}

}  // namespace

TEST_CASE("output file: all of a text reaches a reader that takes it in small pieces") {
  const std::string text = numbered_lines(20'000);
  NarrowPipe blocking;
  CHECK((through(blocking, text) == text));
  NarrowPipe non_blocking(O_NONBLOCK);
  CHECK((through(non_blocking, text) == text));
}

namespace {

/// Lines of one character each, `letter`, of different lengths up to `longest`.
std::string lines_of(char letter, std::size_t longest) {
  std::string text;
  for (std::size_t i = 0; i < 5'000; ++i) text += std::string(1 + i * 7 % longest, letter) + '\n';
  return text;
}

/// How many lines of `text` are not of one character.
std::size_t torn_lines(const std::string& text) {
  std::size_t torn = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.find_first_not_of(line.substr(0, 1)) != std::string::npos) ++torn;
    begin = end + 1;
  }
  return torn;
}

/// What comes through when eight write at once, each of them lines of its own letter.
std::string of_eight_writers(NarrowPipe& pipe, std::size_t longest) {
  std::vector<pid_t> writers;
  for (const char letter : std::string("abcdefgh")) {
    writers.push_back(fork());
    REQUIRE(writers.back() >= 0);
    if (writers.back() > 0) continue;
    OutputFile(pipe.writer(), "the pipe").write(lines_of(letter, longest));
    _exit(0);
  }
  pipe.close_writer();
  std::string read = pipe.read_all();
  for (const pid_t writer : writers) CHECK(waitpid(writer, nullptr, 0) == writer);
  return read;
}

}  // namespace

TEST_CASE("output file: no line of several writers into one full pipe is torn") {
  for (const int flags : {0, O_NONBLOCK}) {
    for (const std::size_t longest : {40UL, 1'000UL}) {
      CAPTURE(flags);
      CAPTURE(longest);
      NarrowPipe pipe(flags);
      const std::string read = of_eight_writers(pipe, longest);
      CHECK(torn_lines(read) == 0);
      CHECK(read.size() == 8 * lines_of('a', longest).size());
    }
  }
}

TEST_CASE("output file: lines longer than a pipe takes at once reach it whole, and so do those beside them") {
  std::string text = numbered_lines(2'000);
  for (const std::size_t length : {4'094UL, 4'095UL, 4'096UL, 4'097UL, 20'000UL, 1UL}) {
    text += std::string(length, 'x') + '\n' + numbered_lines(1'000);
  }
  for (const int flags : {0, O_NONBLOCK}) {
    NarrowPipe pipe(flags);
    CHECK((through(pipe, text) == text));
  }
}

TEST_CASE("output file: a full disk is an error that names the file") {
  const int descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC);
  OutputFile full(descriptor, "standard output");
  CHECK_THROWS_WITH_AS(full.write("1\n"), "cannot write to standard output: No space left on device",
                       leaf::Error);
  full.close();
}

TEST_CASE("output file: a descriptor that is closed already is an error") {
  OutputFile closed(-1, "standard output");
  CHECK_THROWS_WITH_AS(closed.write("1\n"), "cannot write to standard output: Bad file descriptor",
                       leaf::Error);
  CHECK_THROWS_AS(closed.close(), leaf::Error);
}

TEST_CASE("output file: a reader that has gone is told apart from an error") {
  NarrowPipe pipe;
  pipe.close_reader();
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  CHECK_THROWS_AS(OutputFile(pipe.writer(), "the pipe").write("1\n"), leafctl::BrokenPipe);
  std::signal(SIGPIPE, before);
}

TEST_CASE("output file: a signal ends a write that waits, after the line in hand") {
  const std::string text = numbered_lines(20'000);
  NarrowPipe pipe;
  int signal = 0;
  const pthread_t writer = pthread_self();
  std::string read;
  std::thread reading([&] {
    // A byte is here once the write has begun. The pipe being far smaller than the text, it is not over yet.
    read = pipe.read_some(1);
    pthread_kill(writer, SIGINT);
    read += pipe.read_all();
  });
  try {
    OutputFile(pipe.writer(), "the pipe").write(text);
  } catch (const leafctl::Interrupted& interrupted) {
    signal = interrupted.signal;
  }
  pipe.close_writer();
  reading.join();
  CHECK(signal == SIGINT);
  CHECK(read.size() < text.size());
  CHECK(read.back() == '\n');
  CHECK(text.starts_with(read));
}

TEST_CASE("output file: an ignored signal stays ignored") {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const leafctl::InterruptGuard guard;
    std::raise(SIGINT);
    CHECK(leafctl::InterruptGuard::received() == 0);
  }
  std::signal(SIGINT, before);
}
