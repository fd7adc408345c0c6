#include "terminal/record_text.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "leaf/detail/rfc3339.hpp"

using namespace leafctl;

namespace {

constexpr const char* keys[] = {"tag", "next_id", "step", "updated", "description", "parts"};

using std::chrono::milliseconds;

const leaf::UnixTime leaf_epoch{milliseconds(1'288'834'974'657)};

Row order() {
  return {std::string("order"), Id{9'007'199'254'740'993}, std::int64_t{1000},
          leaf_epoch,           std::string("für\talle"),  {}};
}

}  // namespace

TEST_CASE("record: JSON has IDs as strings, other numbers as numbers, times in UTC and null for nothing") {
  CHECK(json_line(keys, order()) ==
        "{\"tag\":\"order\",\"next_id\":\"9007199254740993\",\"step\":1000,"
        "\"updated\":\"2010-11-04T01:42:54.657Z\",\"description\":\"für\\talle\",\"parts\":null}\n");
}

TEST_CASE("record: JSON stays valid whatever bytes a text holds") {
  constexpr const char* key[] = {"text"};
  const std::string line = json_line(key, {std::string("\xFF\n\"\\\x1b\x7f\xC2\x9B")});
  CHECK(line.find('\n') == line.size() - 1);
  CHECK(nlohmann::json::parse(line)["text"] == "\xEF\xBF\xBD\n\"\\\x1b\x7f\xC2\x9B");
}

TEST_CASE("record: a count is in groups of digits for people, and plain elsewhere") {
  constexpr const char* key[] = {"step"};
  const std::pair<std::int64_t, std::string> counts[] = {
      {0, "0"},       {999, "999"},     {1000, "1,000"}, {99999, "99,999"}, {1000000, "1,000,000"},
      {-100, "-100"}, {-1000, "-1,000"}};
  for (const auto& [count, text] : counts) {
    CHECK(key_value_lines(key, {Count{count}}) == "step  " + text + "\n");
    CHECK(tsv_line({Count{count}}) == std::to_string(count) + "\n");
    CHECK(json_line(key, {Count{count}}) == "{\"step\":" + std::to_string(count) + "}\n");
  }
  CHECK(table(key, {{Count{1000}}, {Count{5}}}, false) == " step\n1,000\n    5\n");
}

TEST_CASE("record: a list of texts is an array in JSON and one field elsewhere") {
  constexpr const char* key[] = {"applied"};
  const Row row{std::vector<std::string>{"0001_tags", "0002_workers"}};
  CHECK(json_line(key, row) == "{\"applied\":[\"0001_tags\",\"0002_workers\"]}\n");
  CHECK(tsv_line(row) == "0001_tags,0002_workers\n");
}

TEST_CASE("record: where one row of several is too wide, its remarks alone go below") {
  constexpr const char* three[] = {"key", "value", "origin"};
  std::vector<Row> rows;
  for (const char* key : {"a", "b", "c"})
    rows.push_back({std::string(key), std::string("1"), Remark{"default"}});
  rows.push_back({std::string("d"), std::string("of twenty characters"), Remark{"default"}});
  CHECK(table(three, rows, false, 25) ==
        "key  value  origin\n"
        "a    1      default\n"
        "b    1      default\n"
        "c    1      default\n"
        "d    of twenty characters\n"
        "    origin: default\n");
}

TEST_CASE("record: a pipe gets one escaped, tab-separated line with an empty field for nothing") {
  CHECK(tsv_line(order()) == "order\t9007199254740993\t1000\t2010-11-04T01:42:54.657Z\tfür\\talle\t\n");
}

TEST_CASE("record: a table aligns numbers to the right and texts to the left below their keys") {
  constexpr const char* three[] = {"tag", "next_id", "description"};
  const std::vector<Row> rows{{std::string("größe"), Id{7}, std::string("x\033")},
                              {std::string("b"), Id{12'345'678}, {}}};
  CHECK(table(three, rows, false) ==
        "tag     next_id  description\n"
        "größe         7  x\\x1b\n"
        "b      12345678  -\n");
  CHECK(table(three, rows, true).starts_with("\033[1mtag     next_id  description\033[0m\ngröße"));
}

TEST_CASE("record: remarks that do not fit beside a table stand below their records") {
  constexpr const char* four[] = {"tag", "left", "failure", "store"};
  const std::vector<Row> rows{{std::string("order"), Id{7}, {}, Remark{"sqlite:/a"}},
                              {std::string("b"), Id{12}, Remark{"it is not there"}, Remark{"sqlite:/b"}}};
  CHECK(table(four, rows, false, 42) ==
        "tag    left  failure          store\n"
        "order     7  -                sqlite:/a\n"
        "b        12  it is not there  sqlite:/b\n");
  CHECK(table(four, rows, false, 41) != table(four, rows, false, 35));
  CHECK(table(four, rows, false, 35) ==
        "tag    left  failure\n"
        "order     7  -\n"
        "    store: sqlite:/a\n"
        "b        12  it is not there\n"
        "    store: sqlite:/b\n");
  CHECK(table(four, rows, false, 20) ==
        "tag    left\n"
        "order     7\n"
        "    store: sqlite:/a\n"
        "b        12\n"
        "    failure: it is\n"
        "    not there\n"
        "    store: sqlite:/b\n");
  CHECK(tsv_line(rows[1]) == "b\t12\tit is not there\tsqlite:/b\n");
}

TEST_CASE("record: a long remark is broken below its record, and what is no remark stays beside") {
  constexpr const char* two[] = {"tag", "description"};
  std::string words = "word";
  for (int i = 0; i < 20; ++i) words += " word";
  CHECK(table(two, {{std::string("order"), Remark{words}}, {std::string("b"), Remark{""}}}, false) ==
        "tag\n"
        "order\n"
        "    description: word word word word word word word word word word word word\n"
        "    word word word word word word word word word\n"
        "b\n");
}

TEST_CASE("record: a table that does not fit is told value by value, with a record apart from the next") {
  constexpr const char* three[] = {"tag", "next_id", "description"};
  const std::vector<Row> rows{{std::string("order"), Id{7}, Remark{"for the shop and the other shop"}},
                              {std::string("a-name-of-some-length"), Id{1000}, Remark{""}}};
  CHECK(table(three, rows, true, 29) ==
        "tag          order\n"
        "next_id      7\n"
        "description  for the shop and\n"
        "             the other shop\n"
        "\n"
        "tag          a-name-of-some-length\n"
        "next_id      1000\n"
        "description\n");
  CHECK(table(three, rows, false, 30).starts_with("tag                    next_id\n"));
  // Blanks that need not be broken at stay as they are.
  CHECK(key_value_lines(three, {std::string("a  b"), Id{1}, std::string("c   d")}, 20) ==
        "tag          a  b\n"
        "next_id      1\n"
        "description  c   d\n");
}

TEST_CASE("record: one record on a terminal has a line for each key") {
  constexpr const char* two[] = {"tag", "next_id"};
  CHECK(key_value_lines(two, {std::string("a\nb"), Id{7}}) ==
        "tag      a\\nb\n"
        "next_id  7\n");
}

TEST_CASE("record: times before 1970 and at the end of a second are written right") {
  CHECK(leaf::detail::format_rfc3339(leaf::UnixTime(milliseconds(-1))) == "1969-12-31T23:59:59.999Z");
  CHECK(leaf::detail::format_rfc3339(leaf::UnixTime(milliseconds(951'782'400'000))) ==
        "2000-02-29T00:00:00.000Z");
}

TEST_CASE("record: a time past the year 2262, which nanoseconds cannot count, is written right") {
  CHECK(leaf::detail::format_rfc3339(leaf::UnixTime(milliseconds(253'402'300'799'999))) ==
        "9999-12-31T23:59:59.999Z");
}

TEST_CASE("record: a year of more than four digits is written as ISO 8601 does, with a sign and six") {
  CHECK(leaf::detail::format_rfc3339(leaf::UnixTime(milliseconds(253'402'300'800'000))) ==
        "+010000-01-01T00:00:00.000Z");
  CHECK(leaf::detail::format_rfc3339(leaf::UnixTime(milliseconds(8'640'000'000'000'000))) ==
        "+275760-09-13T00:00:00.000Z");
  CHECK(leaf::detail::format_rfc3339(leaf::UnixTime(milliseconds(-62'167'219'200'001))) ==
        "-000001-12-31T23:59:59.999Z");
  CHECK(leaf::detail::format_rfc3339(leaf::UnixTime(milliseconds(-62'167'219'200'000))) ==
        "0000-01-01T00:00:00.000Z");
}

TEST_CASE("record: distances in time are exact for programs and rough for people") {
  constexpr const char* two[] = {"end", "silent_ms"};
  const Row row{TimeFromNow{leaf_epoch, leaf_epoch - milliseconds(200'500)}, milliseconds(61'234)};
  CHECK(tsv_line(row) == "2010-11-04T01:42:54.657Z\t61234\n");
  CHECK(json_line(two, row) == "{\"end\":\"2010-11-04T01:42:54.657Z\",\"silent_ms\":61234}\n");
  CHECK(table(two, {row}, false) ==
        "end        silent\n"
        "in 3m 20s   1m 1s\n");
  CHECK(key_value_lines(two, row) ==
        "end     in 3m 20s\n"
        "silent  1m 1s\n");
}
