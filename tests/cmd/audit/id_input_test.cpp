#include "audit/id_input.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

using leafctl::IdInput;

namespace {

struct Read {
  std::vector<std::int64_t> ids;
  std::string errors;
  std::uint64_t bad;
};

/// What is read of `pieces`, each of whole lines.
Read read(std::vector<std::string> pieces) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  Read result{};
  {
    leafctl::OutputFile file(ends[1], "a pipe");
    leafctl::Messages messages(file);
    IdInput input(
        {.layout = leaf::Layout::parse("mastodon")},
        [&](auto ids) { result.ids.insert(result.ids.end(), ids.begin(), ids.end()); }, messages);
    std::size_t next = 0;
    input.read_lines([&] { return next == pieces.size() ? std::string_view() : pieces[next++]; });
    result.bad = input.bad();
    CHECK(input.count() == result.ids.size());
  }
  close(ends[1]);
  char buffer[16384];
  const ssize_t size = ::read(ends[0], buffer, sizeof buffer);
  result.errors.assign(buffer, static_cast<std::size_t>(size));
  close(ends[0]);
  return result;
}

}  // namespace

TEST_CASE("audit: numbers of any length are read, with each line end") {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> wanted{0, 9, 10, 99'999'999, 100'000'000, INT64_MAX};
  for (int bits = 1; bits < 64; ++bits) {
    for (int i = 0; i < 100; ++i) wanted.push_back(static_cast<std::int64_t>(random() >> (64 - bits)));
  }
  for (const char* end : {"\n", "\r\n"}) {
    std::string text;
    for (const std::int64_t id : wanted) text += std::to_string(id) + end;
    CHECK(read({text}).ids == wanted);
    text.resize(text.size() - std::string_view(end).size());
    CHECK(read({text}).ids == wanted);
  }
  CHECK(read({"\xEF\xBB\xBF"
              "7\n",
              "8\r"})
            .ids == std::vector<std::int64_t>{7, 8});
  CHECK(read({}).ids.empty());
}

TEST_CASE("audit: what is no ID is reported by its line, the rest is read") {
  const Read mistakes = read({"1\nx\n\n-3\n9223372036854775808\n12345678901234567890\n1 \n 2\n1\r2\n",
                              "12345678x\n0x10\n12345678901234567a\n00000000000000000001\n7"});
  CHECK(mistakes.ids == std::vector<std::int64_t>{1, 7});
  CHECK(mistakes.bad == 12);
  CHECK(mistakes.errors.find("line 2: 'x' is not an ID\n") != std::string::npos);
  CHECK(mistakes.errors.find("line 3: '' is not an ID: it is empty\n") != std::string::npos);
  CHECK(mistakes.errors.find("line 5: '9223372036854775808' is not an ID: it is greater") !=
        std::string::npos);
  CHECK(mistakes.errors.find("line 9: '1\\x0d2' is not an ID\n") != std::string::npos);
  CHECK(mistakes.errors.find("line 11: '0x10'") != std::string::npos);
  CHECK(mistakes.errors.find("line 12:") == std::string::npos);
}

TEST_CASE("audit: a number with zeros in front is no ID") {
  const Read cut = read({"7\n07\n0\n00\n007\r\n", "0123456789\n0000000000000000007"});
  CHECK(cut.ids == std::vector<std::int64_t>{7, 0});
  CHECK(cut.bad == 5);
  CHECK(cut.errors.find("line 2: '07' is not an ID: it has zeros in front\n") != std::string::npos);
  CHECK(cut.errors.find("line 5: '007' is not an ID: it has zeros in front\n") != std::string::npos);
}
