#include "terminal/line_reader.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>

#include "leaf/error.hpp"

using leafctl::LineReader;

namespace {

/// A pipe with a reader on it; what is written is read as soon as it is asked for.
class Pipe {
 public:
  Pipe() { REQUIRE(pipe(ends_.data()) == 0); }
  ~Pipe() {
    close_writer();
    close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return ends_[0]; }
  void write(const std::string& text) {
    std::size_t written = 0;
    while (written < text.size()) {
      const auto count = ::write(ends_[1], text.data() + written, text.size() - written);
      if (count <= 0) return;
      written += static_cast<std::size_t>(count);
    }
  }
  void close_writer() {
    if (ends_[1] != -1) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

}  // namespace

TEST_CASE("line reader: whole lines come as soon as they are there") {
  Pipe pipe;
  LineReader reader(pipe.reader(), "a pipe");
  pipe.write("one\ntwo\nthr");
  CHECK(reader.next_lines() == "one\ntwo\n");
  pipe.write("ee\n");
  CHECK(reader.next_lines() == "three\n");
  pipe.write("\n");
  CHECK(reader.next_lines() == "\n");
  pipe.close_writer();
  CHECK(reader.next_lines().empty());
}

TEST_CASE("line reader: the last line may lack its newline") {
  Pipe pipe;
  LineReader reader(pipe.reader(), "a pipe");
  pipe.write("one\ntwo");
  pipe.close_writer();
  CHECK(reader.next_lines() == "one\n");
  CHECK(reader.next_lines() == "two");
  CHECK(reader.next_lines().empty());
  CHECK(reader.next_lines().empty());
}

TEST_CASE("line reader: nothing gives no line") {
  Pipe pipe;
  LineReader reader(pipe.reader(), "a pipe");
  pipe.close_writer();
  CHECK(reader.next_lines().empty());
}

TEST_CASE("line reader: of a line that is too long the beginning counts as one line, and the next is whole") {
  for (const std::size_t length : {LineReader::max_line - 1, LineReader::max_line, LineReader::max_line + 1,
                                   3 * LineReader::max_line, 5 * LineReader::max_line - 7}) {
    CAPTURE(length);
    Pipe pipe;
    std::thread writer([&] {
      pipe.write("first\n" + std::string(length, 'x') + "\nnext\nlast");
      pipe.close_writer();
    });
    LineReader reader(pipe.reader(), "a pipe");
    std::string text;
    for (auto lines = reader.next_lines(); !lines.empty(); lines = reader.next_lines()) {
      text += lines;
      if (!lines.ends_with('\n')) text += '|';
    }
    writer.join();
    const bool fits = length < LineReader::max_line;
    const std::string middle = std::string(std::min(length, LineReader::max_line), 'x') + (fits ? "\n" : "|");
    CHECK(text == "first\n" + middle + "next\nlast|");
  }
}

TEST_CASE("line reader: a line that is too long may be the last") {
  Pipe pipe;
  std::thread writer([&] {
    pipe.write(std::string(2 * LineReader::max_line + 5, 'x'));
    pipe.close_writer();
  });
  LineReader reader(pipe.reader(), "a pipe");
  CHECK(reader.next_lines().size() == LineReader::max_line);
  CHECK(reader.next_lines().empty());
  writer.join();
}

TEST_CASE("line reader: a descriptor that cannot be read is named") {
  LineReader reader(-1, "standard input");
  try {
    reader.next_lines();
    FAIL("no error was thrown");
  } catch (const leaf::Error& error) {
    CHECK(error.code() == leaf::ErrorCode::failed);
    CHECK(std::string(error.what()) == "cannot read standard input: Bad file descriptor");
  }
}
