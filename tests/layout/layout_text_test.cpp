#include <doctest/doctest.h>
#include <leaf/error.hpp>
#include <leaf/layout.hpp>

#include <string>
#include <utility>

#include "support/usage_error.hpp"

using leaf::Layout;

namespace {

std::string error_in(const std::string& text) {
  return leaf::test::usage_error([&] { Layout::parse(text); });
}

}  // namespace

TEST_CASE("layout text: a known layout is read by its name and shown by it") {
  for (const auto& known : leaf::known_layouts()) {
    CHECK(Layout::parse(known.name).text() == known.text);
    CHECK(Layout::parse(known.text).name() == known.name);
  }
  CHECK(leaf::known_layouts().front().name == "leaf");
}

TEST_CASE("layout text: every form has one text, which reads as the same layout") {
  const std::pair<std::string, std::string> forms[] = {
      {"41,10,12", "time:41,worker:10,sequence:12/1ms@1288834974657"},
      {"41+10+12", "time:41,worker:10,sequence:12/1ms@1288834974657"},
      {"40,20", "time:40,sequence:20/1ms@1288834974657"},
      {"31,5,5,22/1s", "time:31,datacenter:5,worker:5,sequence:22/1s@1288834974657"},
      {"time:39,sequence:8,machine:16/10ms@1409529600000",
       "time:39,sequence:8,machine:16/10ms@1409529600000"},
      {"39,8,16@0/1000ms", "time:39,worker:8,sequence:16/1s@0"},
      {"30,10,10/60s", "time:30,worker:10,sequence:10/1m@1288834974657"},
      {"24,10,10/1h", "time:24,worker:10,sequence:10/1h@1288834974657"},
      {"baidu:29+21+13", "time:29,worker:21,sequence:13/1s@1463673600000"},
      {"sonyflake:38,9,16@1400000000000", "time:38,sequence:9,machine:16/10ms@1400000000000"},
      {"discord/1s", "time:41,worker:5,process:5,sequence:12/1s@1420070400000"},
      {"worker:10,time:41,sequence:12", "worker:10,time:41,sequence:12/1ms@1288834974657"},
      {"time:63", "time:63/1ms@1288834974657"},
  };
  for (const auto& [form, text] : forms) {
    CHECK(Layout::parse(form).text() == text);
    CHECK(Layout::parse(text) == Layout::parse(form));
  }
}

TEST_CASE("layout text: a layout equals another just when their texts are the same") {
  CHECK(Layout::parse("leaf") == Layout::parse("41,10,12"));
  CHECK_FALSE(Layout::parse("leaf") == Layout::parse("twitter"));
  CHECK_FALSE(Layout::parse("leaf") == Layout::parse("cosid"));
  CHECK_FALSE(Layout::parse("leaf") == Layout::parse("leaf/10ms"));
}

TEST_CASE("layout text: what is no layout is refused with the reason") {
  const std::pair<std::string, std::string> wrong[] = {
      {"", "unknown layout ''"},
      {"leef", "unknown layout 'leef'"},
      {"Leaf", "unknown layout 'Leaf'"},
      {"41,10,", "'41,10,' is not a layout: '' is not a number of bits from 1 to 63"},
      {"41, 10,12", "'41, 10,12' is not a layout: ' 10' is not a number of bits from 1 to 63"},
      {"0x10,5", "'0x10,5' is not a layout: '0x10' is not a number of bits from 1 to 63"},
      {"41,-10,12", "'41,-10,12' is not a layout: '-10' is not a number of bits from 1 to 63"},
      {"41,0,12", "'41,0,12' is not a layout: '0' is not a number of bits from 1 to 63"},
      {"99999999999999999999",
       "'99999999999999999999' is not a layout: '99999999999999999999' is not a number of bits from 1 to 63"},
      {"63", "'63' is not a layout: only 2, 3 or 4 fields go without names"},
      {"30,5,5,5,5", "'30,5,5,5,5' is not a layout: only 2, 3 or 4 fields go without names"},
      {"time:41,10,12",
       "'time:41,10,12' is not a layout: some of its fields go without names and some have one"},
      {":41", "':41' is not a layout: ':41' lacks the name of the field"},
      {"baidu:29+21", "'baidu:29+21' is not a layout: the named layout has 3 fields, not '2'"},
      {"baidu:29+shard:21+13",
       "'baidu:29+shard:21+13' is not a layout: some of its fields go without names and some have one"},
      {"leaf/1ms/1ms", "'leaf/1ms/1ms' is not a layout: it has two units"},
      {"leaf@0@0", "'leaf@0@0' is not a layout: it has two epochs"},
      {"leaf/", "'leaf/' is not a layout: '' is not a unit of time from 1ms to 1h"},
      {"leaf/ms", "'leaf/ms' is not a layout: 'ms' is not a unit of time from 1ms to 1h"},
      {"leaf/2h", "the unit of a layout is from 1ms to 1h"},
      {"leaf/0s", "the unit of a layout is from 1ms to 1h"},
      {"leaf/5us", "'leaf/5us' is not a layout: '5us' is not a unit of time from 1ms to 1h"},
      {"leaf@-1", "'leaf@-1' is not a layout: the epoch '-1' is not a number of Unix milliseconds"},
      {"leaf@2010-11-04",
       "'leaf@2010-11-04' is not a layout: the epoch '2010-11-04' is not a number of Unix milliseconds"},
      {"leaf@253402300800000", "the epoch of a layout is from the year 1970 to 9999"},
      {"42,10,12", "the fields of a layout have 64 bits, but an ID has 63"},
      {"worker:10,sequence:12", "a layout has a field named 'time'"},
      {"time:41,time:10", "a layout cannot have two fields named 'time'"},
      {"time:41,sequence:4,sequence:4", "a layout cannot have two fields named 'sequence'"},
      {"time:41,id:10", "'id' cannot name a field of a layout: it means something else in output"},
      {"time:41,Worker:10", "'Worker' cannot name a field of a layout"},
      {"time:41,a2345678901234567:10", "'a2345678901234567' cannot name a field of a layout"},
      {"time:10,a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1", "a layout has from 1 to 8 fields, not '9'"},
  };
  for (const auto& [text, error] : wrong) CHECK(error_in(text) == error);
}
