#include "ids/decoded_record.hpp"

#include <doctest/doctest.h>

#include <string>

#include "terminal/record_text.hpp"

using leafctl::DecodedRecord;

namespace {

std::string tsv(const DecodedRecord& decoded, std::int64_t id) {
  std::string line;
  decoded.append_tsv(id, line);
  return line;
}

std::string json(const DecodedRecord& decoded, std::int64_t id) {
  std::string line;
  decoded.append_json(id, line);
  return line;
}

}  // namespace

TEST_CASE("decoded ID: a line has the ID, layout, time and the layout's own fields") {
  const DecodedRecord twitter(leaf::Layout::parse("twitter"));
  CHECK(tsv(twitter, 1541815603606036480) ==
        "1541815603606036480\ttwitter\t2022-06-28T16:07:40.105Z\t1656432460105\t11\t26\t0\n");
  CHECK(json(twitter, 1541815603606036480) ==
        R"({"id":"1541815603606036480","layout":"twitter","time":"2022-06-28T16:07:40.105Z",)"
        R"("unix_ms":1656432460105,"datacenter":11,"worker":26,"sequence":0})"
        "\n");
}

TEST_CASE("decoded ID: the fast lines are those of every other record") {
  for (const std::string name : {"leaf", "twitter", "mastodon", "sonyflake", "yitter",
                                 "worker:10,time:41,sequence:12", "time:9,sequence:54"}) {
    CAPTURE(name);
    const auto layout = leaf::Layout::parse(name);
    const DecodedRecord decoded(layout);
    const auto middle = layout.epoch() + (layout.last_time() - layout.epoch()) / 3;
    for (const auto id : {layout.first_id(layout.epoch()), layout.last_id(middle), layout.first_id(middle),
                          layout.last_id(layout.last_time())}) {
      CHECK(tsv(decoded, id) == leafctl::tsv_line(decoded.row(id)));
      CHECK(json(decoded, id) == leafctl::json_line(decoded.keys(), decoded.row(id)));
    }
  }
}

TEST_CASE("decoded ID: a row of a table leaves out what all share and what the time tells") {
  const DecodedRecord twitter(leaf::Layout::parse("twitter"));
  const auto keys = twitter.table_keys();
  const auto row = twitter.table_row(1541815603606036480);
  REQUIRE(keys.size() == row.size());
  CHECK(leafctl::json_line(keys, row) ==
        R"({"id":"1541815603606036480","time":"2022-06-28T16:07:40.105Z","datacenter":11,"worker":26,)"
        R"("sequence":0})"
        "\n");
}

TEST_CASE("decoded ID: times far from today are written in full") {
  const auto mastodon = leaf::Layout::parse("mastodon");
  const DecodedRecord decoded(mastodon);
  CHECK(tsv(decoded, 0) == "0\tmastodon\t1970-01-01T00:00:00.000Z\t0\t0\n");
  CHECK(tsv(decoded, 9223372036854775807) ==
        "9223372036854775807\tmastodon\t6429-10-17T02:45:55.327Z\t140737488355327\t65535\n");
}

TEST_CASE("decoded ID: a field that may pass 2^53 is a text in JSON") {
  const DecodedRecord decoded(leaf::Layout::parse("time:9,sequence:54/1h@0"));
  CHECK(json(decoded, 18014398509481983) ==
        R"({"id":"18014398509481983","layout":"time:9,sequence:54/1h@0","time":"1970-01-01T00:00:00.000Z",)"
        R"("unix_ms":0,"sequence":"18014398509481983"})"
        "\n");
}
