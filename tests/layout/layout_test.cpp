#include <doctest/doctest.h>
#include <leaf/error.hpp>
#include <leaf/layout.hpp>

#include <array>
#include <limits>
#include <string>

#include "support/error_of.hpp"

using leaf::ErrorCode;
using leaf::FieldWidth;
using leaf::Layout;
using leaf::UnixTime;
using leaf::test::error_of;
using namespace std::chrono_literals;

namespace {

UnixTime at(std::int64_t unix_ms) {
  return UnixTime(std::chrono::milliseconds(unix_ms));
}

}  // namespace

TEST_CASE("layout: an ID before the epoch is refused") {
  const auto leaf = Layout::parse("leaf");
  CHECK(leaf.first_id(at(1288834974657)) == 0);
  const auto error = error_of([&] { leaf.first_id(at(1288834974656)); });
  CHECK(error.code() == ErrorCode::exhausted);
  CHECK(std::string(error.what()) == "time '2010-11-04T01:42:54.656Z' is before the epoch of layout 'leaf'");
  CHECK(error.hint() == "its first time is 2010-11-04T01:42:54.657Z");
}

TEST_CASE("layout: leaf's time ends in 2080 and not with a negative ID") {
  const auto leaf = Layout::parse("leaf");
  CHECK(leaf.last_time() == at(1288834974657 + (std::int64_t{1} << 41) - 1));
  CHECK(leaf.last_id(leaf.last_time()) == std::numeric_limits<std::int64_t>::max());
  const auto error = error_of([&] { leaf.compose(leaf.last_time() + 1ms, 0, 0); });
  CHECK(error.code() == ErrorCode::exhausted);
  CHECK(std::string(error.what()) == "time '2080-07-10T17:30:30.209Z' is past the end of layout 'leaf'");
  CHECK(error.hint() == "its last time is 2080-07-10T17:30:30.208Z");
}

TEST_CASE("layout: baidu's time ends on 2024-11-20 at 21:24:15 in China") {
  CHECK(Layout::parse("baidu").last_time() == at(1732109055000));
}

TEST_CASE("layout: no time of any known layout gives a negative ID") {
  for (const auto& known : leaf::known_layouts()) {
    CAPTURE(known.name);
    const auto layout = Layout::parse(known.name);
    CHECK(layout.first_id(layout.epoch()) == 0);
    CHECK(layout.last_id(layout.last_time()) > 0);
    CHECK(layout.holds(layout.last_id(layout.last_time())));
    CHECK(error_of([&] { layout.ticks_at(layout.last_time() + layout.unit()); }).code() ==
          ErrorCode::exhausted);
    CHECK(error_of([&] { layout.ticks_at(layout.epoch() - 1ms); }).code() == ErrorCode::exhausted);
  }
}

TEST_CASE("layout: a time field that outlasts the year 9999 ends with it") {
  const auto layout = Layout::parse("time:51,worker:6,sequence:6/1ms@0");
  CHECK(layout.last_time() == at(253402300799999));
  CHECK_FALSE(layout.holds(layout.last_id(layout.last_time()) + 1));
}

TEST_CASE("layout: an ID is taken apart into what it was composed of") {
  for (const auto& known : leaf::known_layouts()) {
    CAPTURE(known.name);
    const auto layout = Layout::parse(known.name);
    for (const std::int64_t ticks : {std::int64_t{0}, std::int64_t{1}, layout.max_ticks()}) {
      for (const std::int64_t worker : {std::int64_t{0}, layout.max_worker() / 3, layout.max_worker()}) {
        for (const std::int64_t sequence :
             {std::int64_t{0}, layout.max_sequence() / 2, layout.max_sequence()}) {
          const auto time = layout.time_at(ticks);
          const auto id = layout.compose(time, worker, sequence);
          const auto decoded = layout.decompose(id);
          CHECK(decoded.time == time);
          CHECK(decoded.worker == worker);
          CHECK(decoded.sequence == sequence);
          CHECK(id == layout.compose(ticks, layout.worker_bits(worker), sequence));
          CHECK(layout.time_of(id) == time);
          CHECK(layout.worker_of(id) == worker);
          CHECK(layout.sequence_of(id) == sequence);
        }
      }
    }
  }
}

TEST_CASE("layout: worker fields are one number, the leftmost the most significant") {
  const auto twitter = Layout::parse("twitter");
  CHECK(twitter.max_worker() == 1023);
  CHECK(twitter.decompose(1541815603606036480).worker == 11 * 32 + 26);
  const auto apart = Layout::parse("rack:2,time:41,sequence:8,machine:4");
  const auto id = apart.compose(apart.epoch() + 5ms, 2 * 16 + 9, 200);
  CHECK(apart.field("rack")->of(id) == 2);
  CHECK(apart.field("machine")->of(id) == 9);
  CHECK(apart.decompose(id).worker == 2 * 16 + 9);
  CHECK(apart.field("shard") == nullptr);
}

TEST_CASE("layout: a time within a unit belongs to the ID of that unit") {
  const auto sonyflake = Layout::parse("sonyflake");
  CHECK(sonyflake.ticks_at(sonyflake.epoch() + 19ms) == 1);
  CHECK(sonyflake.first_id(sonyflake.epoch() + 19ms) == std::int64_t{1} << 24);
  CHECK(sonyflake.last_id(sonyflake.epoch() + 19ms) == (std::int64_t{2} << 24) - 1);
}

TEST_CASE("layout: a worker or sequence out of bounds is refused by name") {
  const auto leaf = Layout::parse("leaf");
  const auto now = at(1700000000000);
  for (const std::int64_t worker : {std::int64_t{-1}, std::int64_t{1024}}) {
    const auto error = error_of([&] { leaf.compose(now, worker, 0); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(std::string(error.what()) ==
          "layout 'leaf' has workers from 0 to 1023, not '" + std::to_string(worker) + "'");
  }
  for (const std::int64_t sequence : {std::int64_t{-1}, std::int64_t{4096}}) {
    const auto error = error_of([&] { leaf.compose(now, 0, sequence); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(std::string(error.what()) ==
          "layout 'leaf' has sequence numbers from 0 to 4095, not '" + std::to_string(sequence) + "'");
  }
  CHECK(Layout::parse("mastodon").max_worker() == 0);
}

TEST_CASE("layout: a negative ID and one wider than the layout are refused") {
  const auto leaf = Layout::parse("leaf");
  const auto negative = error_of([&] { leaf.decompose(-9223372036854775793); });
  CHECK(negative.code() == ErrorCode::usage);
  CHECK(std::string(negative.what()) == "'-9223372036854775793' is not an ID: it is negative");

  const auto baidu = Layout::parse("baidu:20+4+4");
  CHECK(baidu.decompose((1 << 28) - 1).worker == 15);
  const auto wide = error_of([&] { baidu.decompose(1 << 28); });
  CHECK(wide.code() == ErrorCode::usage);
  CHECK(std::string(wide.what()) ==
        "'268435456' is not an ID of layout 'time:20,worker:4,sequence:4/1s@1463673600000'");
  CHECK(wide.hint() == "they end with 268435455 in 2016-05-31T19:16:15.000Z");
}

TEST_CASE("layout: bounds hold every ID of their stretch and no other") {
  for (const std::string name : {"leaf", "sonyflake", "baidu", "mastodon"}) {
    CAPTURE(name);
    const auto layout = Layout::parse(name);
    const auto from = layout.epoch() + 1000 * layout.unit();
    const auto to = from + 50 * layout.unit();
    const auto bounds = layout.bounds(from, to);
    CHECK(layout.time_of(bounds.first) == from);
    CHECK(layout.time_of(bounds.first - 1) == from - layout.unit());
    CHECK(layout.time_of(bounds.last) == to - layout.unit());
    CHECK(layout.time_of(bounds.last + 1) == to);
    CHECK(layout.bounds(to, to + layout.unit()).first == bounds.last + 1);
  }
}

TEST_CASE("layout: bounds go by the time that an ID decodes to, also between two units") {
  const auto baidu = Layout::parse("baidu");
  const auto from = baidu.epoch() + 10s;
  CHECK(baidu.bounds(from - 1ms, from + 1ms) == leaf::IdBounds{baidu.first_id(from), baidu.last_id(from)});
  CHECK(baidu.bounds(from, from + 1ms) == baidu.bounds(from, from + 1s));
  CHECK(baidu.bounds(from + 1ms, from + 1001ms) == baidu.bounds(from + 1s, from + 2s));
  const auto none = error_of([&] { baidu.bounds(from + 1ms, from + 1s); });
  CHECK(none.code() == ErrorCode::usage);
  CHECK(none.hint() == "its times are 1s apart; choose a longer range");
}

TEST_CASE("layout: bounds reach to the last ID and no further") {
  const auto leaf = Layout::parse("leaf");
  CHECK(leaf.bounds(leaf.epoch()) == leaf::IdBounds{0, std::numeric_limits<std::int64_t>::max()});
  CHECK(leaf.bounds(leaf.epoch(), leaf.last_time() + 1ms) == leaf.bounds(leaf.epoch()));
  CHECK(error_of([&] { leaf.bounds(leaf.epoch(), leaf.last_time() + 2ms); }).code() == ErrorCode::exhausted);
  CHECK(error_of([&] { leaf.bounds(leaf.epoch() - 1ms); }).code() == ErrorCode::exhausted);
  CHECK(error_of([&] { leaf.bounds(leaf.last_time() + 1ms); }).code() == ErrorCode::exhausted);
  CHECK(error_of([&] { leaf.bounds(at(1700000000000), at(1700000000000)); }).code() == ErrorCode::usage);
}

TEST_CASE("layout: IDs that do not begin with the time have no bounds") {
  const auto seata = Layout::parse("worker:10,time:41,sequence:12");
  CHECK_FALSE(seata.ordered_by_time());
  CHECK(error_of([&] { seata.bounds(seata.epoch()); }).code() == ErrorCode::usage);
  CHECK(Layout::parse("sonyflake").ordered_by_time());
}

TEST_CASE("layout: a layout is made from fields, and only of a kind that works") {
  const std::array<FieldWidth, 3> fields{{{"time", 41}, {"worker", 10}, {"sequence", 12}}};
  CHECK(Layout(fields, 1ms, at(1288834974657)) == Layout::parse("leaf"));
  CHECK_FALSE(Layout(fields, 1ms, at(0)) == Layout::parse("leaf"));
  CHECK(error_of([&] { Layout(fields, 0ms, at(0)); }).code() == ErrorCode::usage);
  CHECK(error_of([&] { Layout(fields, 3600001ms, at(0)); }).code() == ErrorCode::usage);
  CHECK(error_of([&] { Layout(fields, 1ms, at(-1)); }).code() == ErrorCode::usage);
  CHECK(error_of([&] { Layout({}, 1ms, at(0)); }).code() == ErrorCode::usage);
}
