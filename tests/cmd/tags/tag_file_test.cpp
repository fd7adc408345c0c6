#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "leaf/error.hpp"
#include "tags/tag_csv.hpp"
#include "tags/tag_format.hpp"
#include "tags/tag_yaml.hpp"

using leafctl::read_tag_csv;
using leafctl::read_tag_yaml;
using leafctl::TagFile;
using leafctl::TagFormat;

namespace {

std::string shown(const TagFile& file) {
  std::string text;
  for (const auto& tag : file.tags) {
    text += tag.name.str() + " " + std::to_string(tag.next_id);
    if (tag.step) text += " step " + std::to_string(*tag.step);
    if (tag.limit) text += " limit " + std::to_string(*tag.limit);
    if (tag.description) text += " '" + *tag.description + "'";
    if (tag.is_removed) text += " removed";
    text += "\n";
  }
  for (const auto& error : file.errors) {
    CHECK(error.code() == leaf::ErrorCode::usage);
    text += std::string("error ") + error.what() + "\n";
  }
  return text;
}

std::string csv(const std::string& text) {
  return shown(read_tag_csv({"f", text}));
}

std::string yaml(const std::string& text) {
  return shown(read_tag_yaml({"f", text}));
}

}  // namespace

TEST_CASE("tag CSV: Leaf's table is read as MySQL gives it, with or without a header") {
  const std::string tag = "leaf-segment-test 52001 step 2000 'Test \"x\"'\n";
  CHECK(csv("biz_tag\tmax_id\tstep\tdescription\tupdate_time\n"
            "leaf-segment-test\t52001\t2000\tTest \"x\"\t2018-02-07 10:41:20\n") == tag);
  CHECK(csv("leaf-segment-test\t52001\t2000\tTest \"x\"\t2018-02-07 10:41:20\n") == tag);
  CHECK(csv("\"leaf-segment-test\",52001,2000,\"Test \\\"x\\\"\",\"2018-02-07 10:41:20\"\n") == tag);
  CHECK(csv("\"leaf-segment-test\",\"52001\",\"2000\",\"Test \"\"x\"\"\",\"2018-02-07 10:41:20\"\r\n") ==
        tag);
  CHECK(csv("ID,BIZ_TAG,MAX_ID,STEP,DESCRIPTION\n7,leaf-segment-test,52001,2000,\"Test \"\"x\"\"\"\n") ==
        tag);
  CHECK(csv("order,1,10,NULL,NULL\nuser,2,20,\\N,\n") == "order 1 step 10\nuser 2 step 20\n");
  CHECK(csv("max_id,biz_tag\n5,order\n") == "order 5\n");
  CHECK(csv("").empty());
}

TEST_CASE("tag CSV: with a column next_id, quoted or between tabs, nothing is read as MySQL writes it") {
  const std::string tag = "order 5 'C:\\new, NULL'\n";
  CHECK(csv("tag,next_id,description\norder,5,\"C:\\new, NULL\"\n") == tag);
  CHECK(csv("\"tag\",\"next_id\",\"description\"\n\"order\",\"5\",\"C:\\new, NULL\"\n") == tag);
  CHECK(csv("tag\tnext_id\tdescription\norder\t5\tC:\\new, NULL\n") == tag);
  CHECK(csv("tag\tnext_id\nNULL\t5\n") == "NULL 5\n");
}

TEST_CASE("tag CSV: a tag may be called like a column") {
  CHECK(csv("tag,1,10\nmax_id,2,20\n") == "tag 1 step 10\nmax_id 2 step 20\n");
}

TEST_CASE("tag CSV: every line that is wrong is reported with its place") {
  const std::string bounds = "' takes a number from 0 to 9223372036854775807, not '";
  CHECK(csv("biz_tag,max_id,step\n"
            "a b,1,10\n"
            "c,1e6,10\n"
            "d,9223372036854775808,10\n"
            "e,1,1000001\n"
            "f,1\n"
            ",1,10\n"
            "NULL,1,10\n"
            "g,NULL,10\n"
            "h,,10\n"
            "i,5,10\n"
            "i,6,10\n") ==
        "i 5 step 10\n"
        "error f:2:1: tag 'a b' has a character that is not allowed\n"
        "error f:3:3: 'max_id" +
            bounds +
            "1e6'\n"
            "error f:4:3: 'max_id" +
            bounds +
            "9223372036854775808'\n"
            "error f:5:5: 'step' takes a number from 1 to 1000000, not '1000001'\n"
            "error f:6:1: 2 fields instead of 3\n"
            "error f:7:1: the name of a tag is empty\n"
            "error f:8:1: 'biz_tag' is NULL\n"
            "error f:9:3: 'max_id' is NULL\n"
            "error f:10:3: 'max_id" +
            bounds + "'\nerror f:12:1: tag 'i' is already in line 11\n");
  CHECK(csv("tag,next_id,limit\na,10,8\nb,10,9\n") ==
        "b 10 limit 9\nerror f:2:6: 'limit' takes a number from 9 to 9223372036854775806, not '8'\n");
  CHECK(csv("biz_tag,max_id,step,description\na,1,1,\"x\\0y\"\nb,1,1,\xff\nc,1,1," + std::string(257, 'x') +
            "\n") ==
        "error f:2:7: 'description' holds a zero byte\n"
        "error f:3:7: 'description' is not in UTF-8\n"
        "error f:4:7: 'description' has 257 characters, more than 256\n");
}

TEST_CASE("tag CSV: a file without the columns that it needs is refused") {
  CHECK_THROWS_WITH_AS(csv("tag,next_id,stop\na,1,1\n"), "f:1:13: unknown column 'stop'", leaf::Error);
  CHECK_THROWS_WITH_AS(csv("tag,next_id,tag\na,1,1\n"), "f:1:13: column 'tag' appears twice", leaf::Error);
  CHECK_THROWS_WITH_AS(csv("order\n"), "f:1:1: expected 3 to 5 fields, found 1 (the file has no header line)",
                       leaf::Error);
  CHECK_THROWS_WITH_AS(csv("a,1,1,x,y,z\n"),
                       "f:1:1: expected 3 to 5 fields, found 6 (the file has no header line)", leaf::Error);
  // A head without max_id is none, and so its own second field is no number.
  CHECK(csv("biz_tag,step,description\n") ==
        "error f:1:9: 'max_id' takes a number from 0 to 9223372036854775807, not 'step'\n");
}

TEST_CASE("tag YAML: tags are read, and JSON as well") {
  CHECK(
      yaml("tags:\n  - tag: order\n    next_id: 5\n    step: 10\n    limit: 99\n    description: 'a: b'\n") ==
      "order 5 step 10 limit 99 'a: b'\n");
  CHECK(yaml(R"({"tags": [{"tag": "007", "next_id": "5"}]})") == "007 5\n");
  CHECK(yaml("tags:\n  - {biz_tag: order, max_id: 5, limit: ~, update_time: x}\n") == "order 5\n");
  CHECK(yaml("tags:\n").empty());
  CHECK(yaml("").empty());
}

TEST_CASE("tag YAML: what is wrong is reported with its place") {
  CHECK(yaml("tags:\n"
             "  - tag: order\n"
             "    nxt_id: 5\n"
             "  - tag: user\n"
             "  - order\n"
             "  - {tag: a, next_id: [1]}\n"
             "  - {tag: b, next_id: -1}\n"
             "  - {tag: c, next_id: 1, max_id: 2}\n"
             "  - {tag: d, next_id: 1}\n"
             "  - {tag: d, next_id: 1}\n") ==
        "d 1\nerror f:3:5: unknown key 'nxt_id'\nerror f:4:5: a tag has no 'next_id'\nerror f:5:5: a tag has "
        "keys, such as 'tag: order'\nerror f:6:14: 'next_id' takes one value\nerror f:7:23: 'next_id' takes "
        "a number from 0 to 9223372036854775807, not '-1'\nerror f:8:26: 'max_id' is given twice\nerror "
        "f:10:11: tag 'd' is already in line 9\n");
  CHECK_THROWS_WITH_AS(yaml("tag: order\n"), "f:1:1: expected the one key 'tags'", leaf::Error);
  CHECK_THROWS_WITH_AS(yaml("tags: order\n"), "f:1:7: 'tags' takes a list", leaf::Error);
  CHECK_THROWS_AS(yaml("tags: [\n"), leaf::Error);
}

TEST_CASE("tag files: whether a tag was removed is true or false, and its limit is over") {
  CHECK(yaml("tags:\n  - {tag: a, next_id: 5, limit: 1, removed: true}\n  - {tag: b, next_id: 5, removed: "
             "false}\n"
             "  - {tag: c, next_id: 5, removed: ~}\n  - {tag: d, next_id: 5, removed: yes}\n") ==
        "a 5 limit 1 removed\nb 5\nc 5\nerror f:5:35: 'removed' takes true or false, not 'yes'\n");
  CHECK(csv("tag,next_id,removed\na,5,true\nb,5,false\nc,5,\nd,5,1\n") ==
        "a 5 removed\nb 5\nc 5\nerror f:5:5: 'removed' takes true or false, not '1'\n");
}

TEST_CASE("tag YAML: a second document is refused, not left out") {
  CHECK(yaml("---\ntags:\n  - {tag: a, next_id: 5}\n...\n") == "a 5\n");
  CHECK_THROWS_WITH_AS(yaml("tags:\n  - {tag: a, next_id: 5}\n---\ntags:\n  - {tag: b, next_id: 7}\n"),
                       "f:4:1: a second document", leaf::Error);
}

TEST_CASE("tag files: what is written in either format is read again") {
  leaf::Tag plain;
  plain.name = "null";
  plain.next_id = 1;
  plain.step = 1000;
  leaf::Tag full;
  full.name = "007";
  full.next_id = leaf::max_id;
  full.step = 1;
  full.limit = leaf::max_id;
  full.description = "a \"b\", \\n\n\tNULL: # größe";
  const std::string wanted = "null 1 step 1000\n007 9223372036854775806 step 1 limit 9223372036854775806 '" +
                             full.description + "'\n";
  CHECK(csv(leafctl::tags_as_csv({plain, full})) == wanted);
  CHECK(yaml(leafctl::tags_as_yaml({plain, full})) == wanted);
  CHECK(yaml(leafctl::tags_as_yaml({})).empty());
  CHECK(csv(leafctl::tags_as_csv({})).empty());
}

namespace {

/// Tags with counters at both ends, limits around them, and descriptions of what a format may stumble on.
std::vector<leaf::Tag> odd_tags(std::mt19937& random) {
  static const std::vector<std::string> parts{
      "a",      "\"",   "'",    ",",    ":",    ": ",     " ",      "\t",  "\n",   "\r",     "\r\n",
      "\\",     "\\n",  "\\N",  "NULL", "~",    "-",      "- ",     "---", "...",  "#",      " #",
      "{",      "}",    "[",    "]",    "&",    "*",      "!",      "|",   ">",    "%",      "@",
      "`",      "?",    "\x01", "\x1b", "\x7f", "\u0085", "ö",      "語",  "🙂", "\ufeff", "\u2028",
      "\u00a0", "true", "0x1F", "1e3",  "tag",  "<<",     "\u0301", "=",   ";",    "\b",     "\f"};
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  std::vector<leaf::Tag> tags;
  for (int i = 0; i < 40; ++i) {
    leaf::Tag tag;
    tag.name = std::to_string(i);
    const std::int64_t ends[] = {0, 1, 2, 1'000, leaf::max_id - 1, leaf::max_id, leaf::max_id + 1};
    tag.next_id = ends[below(std::size(ends))];
    tag.step = below(2) == 0 ? 1 : leaf::max_step;
    const std::int64_t limits[] = {std::max<std::int64_t>(tag.next_id - 1, 0),
                                   std::min(tag.next_id, leaf::max_id), leaf::max_id};
    if (below(2) == 0) tag.limit = limits[below(std::size(limits))];
    for (std::size_t count = below(6); count > 0; --count) tag.description += parts[below(parts.size())];
    tag.is_removed = below(4) == 0;
    tags.push_back(tag);
  }
  return tags;
}

std::string shown(const std::vector<leaf::Tag>& tags) {
  TagFile file;
  for (const leaf::Tag& tag : tags) {
    leafctl::FiledTag filed{
        .name = leaf::TagName(tag.name), .next_id = tag.next_id, .step = tag.step, .limit = tag.limit};
    if (!tag.description.empty()) filed.description = tag.description;
    filed.is_removed = tag.is_removed;
    file.tags.push_back(filed);
  }
  return shown(file);
}

}  // namespace

TEST_CASE("tag files: no counter, limit or description is lost on the way") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const auto tags = odd_tags(random);
    REQUIRE(csv(leafctl::tags_as_csv(tags)) == shown(tags));
    REQUIRE(yaml(leafctl::tags_as_yaml(tags)) == shown(tags));
  }
}

TEST_CASE("tag files: YAML has names in quotes that other readers take for numbers or truth values") {
  const auto written = [](const char* name) {
    leaf::Tag tag;
    tag.name = name;
    tag.step = 1;
    return leafctl::tags_as_yaml({tag});
  };
  for (const char* name :
       {"true", "NO", "on", "y", "123", "1e3", "0x10", "-1", "+5", ".5", ".inf", "2024-01-01"})
    CHECK(written(name).find(std::string("tag: \"") + name + '"') != std::string::npos);
  for (const char* name : {"order", "trues", "n1", "on-call", "invoice.2024"})
    CHECK(written(name).find(std::string("tag: ") + name + '\n') != std::string::npos);
}

TEST_CASE("tag files: YAML that would be read otherwise is not written") {
  leaf::Tag tag;
  tag.name = "order";
  tag.step = 1;
  tag.description = "\x1b\uffff";
  CHECK_THROWS_WITH_AS(leafctl::tags_as_yaml({tag}), "tag 'order' has a character that YAML does not keep",
                       leaf::Error);
  tag.description = "\uffff";
  CHECK(yaml(leafctl::tags_as_yaml({tag})) == shown(std::vector{tag}));
}

TEST_CASE("tag files: the format is told by the name, else by the first line") {
  const std::pair<leafctl::InputFile, TagFormat> files[] = {
      {{"x.yaml", "a,1,1"}, TagFormat::yaml},
      {{"x.yml", ""}, TagFormat::yaml},
      {{"x.csv", "tags:"}, TagFormat::csv},
      {{"x.tsv", ""}, TagFormat::csv},
      {{"x", "tags:\n"}, TagFormat::yaml},
      {{"x", "tags: []\n"}, TagFormat::yaml},
      {{"x", "---\r\n"}, TagFormat::yaml},
      {{"x", "# tags\n"}, TagFormat::yaml},
      {{"x", "{\"tags\":[]}"}, TagFormat::yaml},
      {{"x", "---,1,1\n"}, TagFormat::csv},
      {{"x", "tags:,1,1\n"}, TagFormat::csv},
      {{"x", "order,1,1\n"}, TagFormat::csv},
      {{"x", ""}, TagFormat::csv},
  };
  for (const auto& pair : files) {
    CAPTURE(pair.first.name);
    CAPTURE(pair.first.text);
    CHECK(leafctl::format_of(pair.first) == pair.second);
  }
}
