#include "serve/resp.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace std::string_literals;

using leafctl::serve::RespCommand;
using Parsed = RespCommand::Parsed;

std::vector<std::string> words_of(const RespCommand& command) {
  return {command.words().begin(), command.words().end()};
}

/// Why `input` means nothing.
std::string mistake_in(const std::string& input) {
  RespCommand command;
  CHECK(command.parse(input) == Parsed::wrong);
  return std::string(command.mistake());
}

}  // namespace

TEST_CASE("resp: a command is read with its size, and what follows it is left") {
  RespCommand command;
  const std::string input = "*3\r\n$6\r\nINCRBY\r\n$5\r\norder\r\n$2\r\n10\r\n";
  const std::string both = input + "*1\r\n$4\r\nPING\r\n";
  REQUIRE(command.parse(both) == Parsed::complete);
  CHECK(words_of(command) == std::vector<std::string>{"INCRBY", "order", "10"});
  CHECK(command.size() == input.size());
}

TEST_CASE("resp: bulks hold any bytes, also none") {
  RespCommand command;
  const std::string input = "*3\r\n$4\r\nECHO\r\n$4\r\n\0\r\n\xff\r\n$0\r\n\r\n"s;
  REQUIRE(command.parse(input) == Parsed::complete);
  CHECK(words_of(command) == std::vector<std::string>{"ECHO", std::string("\0\r\n\xff", 4), ""});
}

TEST_CASE("resp: a command that is cut anywhere is incomplete") {
  const std::string commands[] = {"*2\r\n$4\r\nINCR\r\n$5\r\norder\r\n", "INCR order\r\n", "*0\r\n",
                                  "*-1\r\n", "\r\n"};
  for (const std::string& whole : commands) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      RespCommand command;
      CAPTURE(whole.substr(0, size));
      // A line end alone ends a typed command.
      const bool ends_line = whole.find('*') == std::string::npos && whole.substr(0, size).ends_with('\n');
      if (!ends_line) CHECK(command.parse(std::string_view(whole).substr(0, size)) == Parsed::incomplete);
    }
    RespCommand command;
    const Parsed parsed = command.parse(whole);
    CHECK((parsed == Parsed::complete || parsed == Parsed::empty));
    CHECK(command.size() == whole.size());
  }
}

TEST_CASE("resp: commands may be typed by hand") {
  RespCommand command;
  REQUIRE(command.parse(" incrby\torder  10 \r\nPING\r\n") == Parsed::complete);
  CHECK(words_of(command) == std::vector<std::string>{"incrby", "order", "10"});
  REQUIRE(command.parse("INCR \"order\" 'a' \"\"\r\n") == Parsed::complete);
  CHECK(words_of(command) == std::vector<std::string>{"INCR", "order", "a", ""});
  CHECK(command.parse("\r\n") == Parsed::empty);
  for (const char* line : {"set a \"b c\"\r\n", "set a b'\r\n", "set a 'b\"\r\n", "set a \"\r\n"})
    CHECK(mistake_in(line) == "quotes are only taken around a whole word");
}

TEST_CASE("resp: what is no command is refused before more of it is waited for") {
  CHECK(mistake_in("*2147483648\r\n") == "invalid multibulk length");
  CHECK(mistake_in("*65\r\n") == "invalid multibulk length");
  CHECK(mistake_in("*x\r\n") == "invalid multibulk length");
  CHECK(mistake_in("*1\r\n$-2\r\n") == "invalid bulk length");
  CHECK(mistake_in("*1\r\n$-1\r\n") == "invalid bulk length");
  CHECK(mistake_in("*1\r\n$2147483648\r\n") == "invalid bulk length");
  CHECK(mistake_in("*1\r\n$9223372036854775808\r\n") == "invalid bulk length");
  CHECK(mistake_in("*1\r\n*1\r\n*1\r\n") == "expected '$', got '*'");
  CHECK(mistake_in("*1\r\n$4\r\nPINGx\r\n") == "a bulk is longer than it says");
  CHECK(mistake_in("*" + std::string(30, '1')) == "too big mbulk count string");
  CHECK(mistake_in("*1\r\n$" + std::string(30, '1')) == "too big bulk count string");
  CHECK(mistake_in(std::string(RespCommand::max_word + 1, 'a')) == "too big inline request");
  CHECK(mistake_in("\x16\x03\x01") == "unknown protocol");
  std::string many = "*64\r\n";
  for (int i = 0; i < 5; ++i) many += "$16384\r\n" + std::string(16384, 'a') + "\r\n";
  CHECK(mistake_in(many) == "too big a command");
}

TEST_CASE("resp: integers are read as Redis reads them") {
  using leafctl::serve::parse_resp_integer;
  CHECK(parse_resp_integer("0") == 0);
  CHECK(parse_resp_integer("-1") == -1);
  CHECK(parse_resp_integer("9223372036854775807") == INT64_MAX);
  CHECK(parse_resp_integer("-9223372036854775808") == INT64_MIN);
  for (const char* const text :
       {"", "-", "-0", "+1", "01", " 1", "1 ", "1.0", "0x10", "9223372036854775808"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_resp_integer(text).has_value());
  }
}

TEST_CASE("resp: an error is one line, whatever is in it") {
  std::string out;
  leafctl::serve::append_resp_error("ERR", "a\r\nb\x1b", out);
  CHECK(out == "-ERR a  b \r\n");
}
