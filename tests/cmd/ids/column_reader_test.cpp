#include "ids/column_reader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "leaf/error.hpp"

using leafctl::ColumnReader;

namespace {

/// All fields, a line each with its number; what came in pieces of whole lines of at most `piece` lines.
std::string shown(const std::string& text, const ColumnReader::Options& options, std::size_t piece) {
  ColumnReader reader(options);
  std::string result;
  const auto take = [&](bool is_last) {
    while (const auto field = reader.next(is_last)) {
      result += std::to_string(field->line) +
                (field->mistake.empty() ? " [" + field->text + "]" : " " + field->mistake);
      result += '\n';
    }
  };
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    for (std::size_t line = 0; line < piece && end < text.size(); ++line) {
      end = std::min(text.find('\n', end), text.size() - 1) + 1;
    }
    reader.add(text.substr(begin, end - begin));
    take(false);
    begin = end;
  }
  take(true);
  return result;
}

/// The same in pieces of every size, which give the same.
std::string shown(const std::string& text, const ColumnReader::Options& options) {
  const std::string result = shown(text, options, text.size() + 1);
  for (const std::size_t piece : {1U, 2U, 3U}) CHECK(shown(text, options, piece) == result);
  return result;
}

}  // namespace

TEST_CASE("column reader: a column is found by number or name, whatever parts the fields") {
  CHECK(shown("a,b\nc,d\n", {.column = "2"}) == "1 [b]\n2 [d]\n");
  CHECK(shown("a\tb\r\nc\td", {.column = "2"}) == "1 [b]\n2 [d]\n");
  CHECK(shown("a;b\nc,x;d\n", {.column = "2"}) == "1 [b]\n2 [d]\n");
  CHECK(shown("\"a;x\",b\n", {.column = "2"}) == "1 [b]\n");
  CHECK(shown("\"a\tx\",b\n", {.column = "2"}) == "1 [b]\n");
  CHECK(shown("a,b;c\n", {.column = "2", .separator = ";"}) == "1 [c]\n");
  CHECK(shown("a,b\n1,2\n3,4\n", {.column = "b"}) == "2 [2]\n3 [4]\n");
  CHECK(shown("a,b\n1,2\n", {.column = "2", .has_header = true}) == "2 [2]\n");
  CHECK(shown("\"a\nb\",c\n\"x\ny\",z\n", {.column = "c"}) == "3 [z]\n");
  CHECK(shown("1\n2\n", {.column = "1"}) == "1 [1]\n2 [2]\n");
}

TEST_CASE("column reader: quotes hold what parts fields and records, but not in a TSV") {
  CHECK(shown("\"a,\"\"b\"\"\r\nc\",d\nx,y\n", {.column = "1"}) == "1 [a,\"b\"\r\nc]\n3 [x]\n");
  CHECK(shown("\"a\tb\n\"\tc\n", {.column = "2"}) == "1 [b]\n2 [c]\n");
  CHECK(shown("\"a\tb\n\"\tc\n", {.column = "2", .separator = "tab"}) == "1 [b]\n2 [c]\n");
  CHECK(shown("a\"b,c\"d\n", {.column = "2"}) == "1 [c\"d]\n");
}

TEST_CASE("column reader: a record that is wrong costs no other one") {
  CHECK(shown("a\n\nb,\n,c\n", {.column = "2", .separator = ","}) ==
        "1 it has 1 field, and no column 2\n2 it has 1 field, and no column 2\n3 []\n4 [c]\n");
  CHECK(shown("\"a\" b,1\nc,2\n", {.column = "2"}) == "1 it has text after a closing quote\n2 [2]\n");
  CHECK(shown("\"a,1\nc,2\nd,3\n", {.column = "2"}) == "1 it has a quote that is not closed\n2 [2]\n3 [3]\n");
  CHECK(shown("\"a,1\nc,2\n\"d\",3\n", {.column = "2"}) ==
        "1 it has text after a closing quote\n2 [2]\n3 [3]\n");
}

TEST_CASE("column reader: a quote that is not closed is given up, and does not hold the rest back") {
  const std::string line = "x,1\n";
  ColumnReader reader({.column = "2"});
  reader.add("\"a,0\n");
  std::size_t added = 0;
  while (!reader.next(false)) {
    REQUIRE(added <= ColumnReader::max_record);
    reader.add(line);
    added += line.size();
  }
  std::size_t records = 0;
  while (reader.next(false)) ++records;
  CHECK(records == added / line.size());
}

TEST_CASE("column reader: what is written as CSV comes back") {
  std::mt19937 random(7);
  const std::string parts[] = {"a", ",", "\"", "\n", "\r\n", " ", ";", "\t", "1"};
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  for (int round = 0; round < 200; ++round) {
    std::string text;
    std::string wanted;
    std::size_t line = 1;
    for (int record = 0; record < 10; ++record) {
      std::vector<std::string> fields(3);
      for (std::string& field : fields) {
        for (std::size_t count = below(5); count > 0; --count) field += parts[below(std::size(parts))];
      }
      const std::string written = leafctl::csv_line(fields);
      wanted += std::to_string(line) + " [" + fields[1] + "]\n";
      line += static_cast<std::size_t>(std::ranges::count(written, '\n'));
      text += written;
    }
    REQUIRE(shown(text, {.column = "2", .separator = ","}) == wanted);
  }
}
