#include "doctor/supply_checks.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "leaf/detail/rfc3339.hpp"

using leafctl::Check;
using leafctl::Checks;
using leafctl::CheckState;
using namespace std::chrono_literals;

namespace {

leaf::Tag tag(const std::string& name, std::int64_t next_id, std::optional<std::int64_t> limit = {}) {
  leaf::Tag result;
  result.name = name;
  result.next_id = next_id;
  result.step = 1000;
  result.limit = limit;
  return result;
}

Check only(const Checks& checks) {
  REQUIRE(checks.size() == 1);
  return checks[0];
}

const leaf::Layout leaf_layout = leaf::Layout::parse("leaf");
const leaf::UnixTime now{1'795'000'000'000ms};
const leafctl::WorkerPolicy policy{.owner = "here", .recycle_after = 1h, .max_skew = 5s, .max_backward = 2s};

leaf::Worker worker(std::int64_t id, const std::string& owner, leaf::UnixTime window_end,
                    std::chrono::milliseconds silent_for, bool leased = true) {
  leaf::Worker result;
  result.id = id;
  result.owner = owner;
  result.leased = leased;
  result.window_end = window_end;
  result.renewed_at = now - silent_for;
  result.silent_for = silent_for;
  return result;
}

Checks judge(const std::vector<leaf::Worker>& workers, const char* layout = "leaf",
             std::optional<leaf::WorkerRange> range = {}) {
  const auto parsed = leaf::Layout::parse(layout);
  return leafctl::worker_checks(workers, parsed, range.value_or(leaf::WorkerRange{0, parsed.max_worker()}),
                                now, policy);
}

}  // namespace

TEST_CASE("tag checks: a tenth left is a warning, nothing left a failure") {
  CHECK(only(leafctl::tag_checks({}, {})).state == CheckState::ok);
  CHECK(only(leafctl::tag_checks({tag("a", 1), tag("b", 1, 1000)}, {})).detail ==
        "2 tags, none near its limit");
  CHECK(only(leafctl::tag_checks({tag("a", 900, 1000)}, {})).state == CheckState::ok);
  // More is buffered than the store has granted: it has gone back.
  CHECK(only(leafctl::tag_checks({tag("a", 21)}, {{.tag = "a", .buffered = 55}})).state == CheckState::ok);
  const Check near = only(leafctl::tag_checks({tag("a", 901, 1000), tag("b", 1)}, {}));
  CHECK(near.state == CheckState::warning);
  CHECK(near.detail == "tag 'a' has only 100 IDs left (limit 1000)");
  CHECK(near.hint == "raise it with 'leafctl tags update a --limit ID', or lift it with --limit none");
  CHECK(only(leafctl::tag_checks({tag("a", 1001, 1000)}, {})).state == CheckState::failed);
  CHECK(only(leafctl::tag_checks({tag("-a", 1001, 1000)}, {}))
            .hint.find("'leafctl tags update --limit ID -- -a'") != std::string::npos);
}

TEST_CASE("tag checks: a name that Leaf took and no command takes is a warning, and no reason to run one") {
  const Check odd = only(leafctl::tag_checks({tag("shop/order", 1001, 1000), tag("b", 1)}, {}));
  CHECK(odd.state == CheckState::warning);
  CHECK(odd.detail == "tag 'shop/order' has a name that is refused here: only Leaf draws from it");
  CHECK(odd.hint ==
        "once nothing draws from it, add another with 'leafctl add-tag TAG --start ID' and an ID above all "
        "that it gave");
}

TEST_CASE("tag checks: what this host has buffered is left too") {
  const Check last = only(leafctl::tag_checks({tag("a", 1001, 1000)}, {{.tag = "a", .buffered = 50}}));
  CHECK(last.state == CheckState::warning);
  CHECK(last.detail == "tag 'a' has only 50 IDs left (limit 1000)");
  CHECK(only(leafctl::tag_checks({tag("a", 901, 1000)}, {{.tag = "a", .buffered = 10}})).state ==
        CheckState::ok);
  CHECK(only(leafctl::tag_checks({tag("a", 1001, 1000)}, {{.tag = "b", .buffered = 50}})).state ==
        CheckState::failed);
}

TEST_CASE("tag checks: the greatest ID of all is a limit that nothing raises") {
  const Checks checks = leafctl::tag_checks({tag("a", leaf::max_id)}, {});
  REQUIRE(checks.size() == 2);
  CHECK(checks[0].state == CheckState::warning);
  CHECK(checks[0].detail == "tag 'a' has only 1 ID left (limit 9223372036854775806)");
  CHECK(checks[0].hint == "go on with another tag: no ID is greater");
  CHECK(leafctl::tag_checks({tag("a", leaf::max_id + 1)}, {})[0].state == CheckState::failed);
  // Also where somebody has set it.
  CHECK(leafctl::tag_checks({tag("a", leaf::max_id, leaf::max_id)}, {})[0].hint == checks[0].hint);
}

TEST_CASE("tag checks: at the pace measured a tag has to last for a month") {
  const std::vector<leaf::Tag> tags{tag("a", 1, 31 * 86'400), tag("b", 1)};
  CHECK(only(leafctl::tag_checks(tags, {{"a", 1.0}})).detail ==
        "2 tags, none near its limit; at this host's pace 'a' lasts about 31d");
  const Check soon = only(leafctl::tag_checks(tags, {{"b", 10.0}, {"a", 2.0}}));
  CHECK(soon.state == CheckState::warning);
  CHECK(soon.detail ==
        "tag 'a' has only 2678400 IDs left (limit 2678400), for about 15d 12h at this host's pace");
  CHECK(only(leafctl::tag_checks({tag("b", 1)}, {{"b", 1e9}}))
            .detail.ends_with("'b' lasts more than 100 years"));
  CHECK(only(leafctl::tag_checks({tag("b", 1)}, {{"b", 1e11}})).detail.ends_with("'b' lasts about 3 years"));
  CHECK(only(leafctl::tag_checks(tags, {{"a", 0.0}})).detail == "2 tags, none near its limit");
}

TEST_CASE("tag checks: IDs past 2^31 and 2^53 are told of, without a hint") {
  constexpr std::int64_t wide = std::int64_t{1} << 31;
  constexpr std::int64_t great = std::int64_t{1} << 53;
  CHECK(leafctl::tag_checks({tag("a", wide - 1)}, {}).size() == 1);
  const Checks checks = leafctl::tag_checks(
      {tag("a", wide), tag("b", great - 1), tag("c", wide), tag("d", wide), tag("e", wide), tag("f", great)},
      {});
  REQUIRE(checks.size() == 3);
  CHECK(checks[1].detail == "IDs past 2^31, too large for 32-bit columns: of 'a', 'b', 'c', 2 more");
  CHECK(checks[2].detail == "IDs past 2^53, which JavaScript keeps only as strings: of 'f'");
  for (const Check& check : checks) CHECK(check.state == CheckState::ok);
}

TEST_CASE("layout check: the timestamps have to last for a year") {
  const auto judge_at = [](leaf::UnixTime time) { return leafctl::layout_check(leaf_layout, {}, time); };
  CHECK(judge_at(now).detail == "the timestamps of layout 'leaf' last until 2080-07-10, 53 years");
  CHECK(judge_at(leaf_layout.last_time() - std::chrono::days(366)).state == CheckState::ok);
  const Check soon = judge_at(leaf_layout.last_time() - std::chrono::days(365));
  CHECK(soon.state == CheckState::warning);
  CHECK(soon.detail == "the timestamps of layout 'leaf' end on 2080-07-10, in 365d");
  CHECK(judge_at(leaf_layout.last_time()).state == CheckState::failed);
  CHECK(judge_at(leaf_layout.epoch() - 1ms).state == CheckState::failed);
  CHECK(judge_at(leaf_layout.epoch()).state == CheckState::ok);
  CHECK(leafctl::layout_check(leaf_layout, leaf_layout, now).state == CheckState::ok);
  CHECK(leafctl::layout_check(leaf_layout, leaf::Layout::parse("twitter"), now).state == CheckState::failed);
}

TEST_CASE("worker checks: one that was not given back and is silent may be dead, unless it is our own") {
  CHECK(only(judge({})).detail == "0 of 1024 workers are taken");
  CHECK(only(judge({worker(0, "held", now + 1min, 2h)})).state == CheckState::ok);
  CHECK(only(judge({worker(0, "quiet", now, 59min)})).state == CheckState::ok);
  CHECK(only(judge({worker(0, "idle", now, 2h, false)})).state == CheckState::ok);
  CHECK(only(judge({worker(0, "here", now, 2h)})).state == CheckState::ok);
  CHECK(only(judge({worker(0, "", now, 2h)})).state == CheckState::ok);
  const Checks checks = judge({worker(7, "dead", now, 2h)});
  REQUIRE(checks.size() == 2);
  CHECK(checks[1].state == CheckState::warning);
  CHECK(checks[1].detail == "worker 7 of 'dead' was not given back, and silent for 2h");
  CHECK(checks[1].hint == "if its holder is gone, 'leafctl workers recycle 7' frees it");
}

TEST_CASE("worker checks: a tenth has to be free, and one for a newcomer") {
  std::vector<leaf::Worker> workers;
  for (int i = 0; i < 15; ++i) workers.push_back(worker(i, "w" + std::to_string(i), now + 1min, 0ms));
  CHECK(only(judge(workers, "41,4,18")).detail == "15 of 16 workers are taken");
  CHECK(only(judge(workers, "41,4,18")).state == CheckState::ok);
  workers.push_back(worker(15, "last", now + 1min, 0ms));
  CHECK(only(judge(workers, "41,4,18")).state == CheckState::failed);
  workers.back().owner = "here";
  CHECK(only(judge(workers, "41,4,18")).state == CheckState::warning);
  CHECK(only(judge(workers, "40,5,18")).state == CheckState::ok);
  workers.back() = worker(15, "silent", now, 1h, false);
  CHECK(only(judge(workers, "41,4,18")).detail == "15 of 16 workers are taken");
}

TEST_CASE("worker checks: those that were given back are waited for where there are no others") {
  std::vector<leaf::Worker> workers{worker(0, "", now + 3min, 0ms, false),
                                    worker(1, "", now + 2min, 0ms, false)};
  const Check given_back = only(judge(workers, "41,1,21"));
  CHECK(given_back.state == CheckState::failed);
  CHECK(given_back.detail == "2 of 2 workers are taken");
  CHECK(given_back.hint == "nobody holds them: wait until " + leaf::detail::format_rfc3339(now + 2min) +
                               ", when the first is free");
  workers[0].owner = "held";
  CHECK(only(judge(workers, "41,1,21")).hint == "wait until " + leaf::detail::format_rfc3339(now + 2min) +
                                                    ", when the first that was freed can be leased; or see "
                                                    "'leafctl workers list', and free those no longer "
                                                    "used with 'leafctl workers recycle'");
  workers[0] = worker(0, "ahead", now + 400 * 24h, -400 * 24h);
  CHECK(judge(workers, "41,1,21")
            .at(0)
            .hint.starts_with("wait until " + leaf::detail::format_rfc3339(now + 2min)));
  workers[1].owner = "held";
  CHECK(judge(workers, "41,1,21").at(0).hint.starts_with("see 'leafctl workers list'"));
  workers = {worker(0, "", now + 400 * 24h, -400 * 24h, false)};
  CHECK(judge(workers, "41,1,21").at(1).hint.starts_with("others are used instead"));
  workers.push_back(worker(1, "held", now + 400 * 24h, -400 * 24h));
  CHECK(judge(workers, "41,1,21").at(1).hint.starts_with("'leafctl workers list --state ahead'"));
}

TEST_CASE("worker checks: those that the store leases count, and are told where they are not all") {
  std::vector<leaf::Worker> workers;
  for (int i = 0; i < 8; ++i) workers.push_back(worker(i, "w" + std::to_string(i), now + 1min, 0ms));
  CHECK(only(judge(workers, "41,4,18", leaf::WorkerRange{4, 15})).detail ==
        "4 of 12 workers are taken, of the layout's 16 this store leases 4 to 15");
  CHECK(only(judge(workers, "41,4,18", leaf::WorkerRange{0, 7})).state == CheckState::failed);
  CHECK(only(judge(workers, "41,4,18", leaf::WorkerRange{8, 15})).state == CheckState::ok);
  CHECK(only(judge(workers, "41,4,18", leaf::WorkerRange{0, 15})).detail == "8 of 16 workers are taken");
}

TEST_CASE("worker checks: a clock behind a grant to this host fails, and behind one to another does not") {
  CHECK(judge({worker(0, "here", now + 1h, -5s)}).size() == 1);
  const Check little = judge({worker(0, "here", now + 1h, -5001ms)}).at(1);
  CHECK(little.name == "clock");
  CHECK(little.state == CheckState::failed);
  CHECK(little.detail ==
        "the store's clock is 5s behind the last grant to 'here', so it is leased no worker");
  CHECK(little.hint == "wait until it has caught up, or set it right");
  const Checks much = judge({worker(0, "here", now + 401 * 24h, -400 * 24h), worker(1, "there", now, -9h)});
  REQUIRE(much.size() == 3);
  CHECK(much[1].hint ==
        "set it right; if it is right already, go on with 'leafctl workers release --worker-name here'");
  leafctl::WorkerPolicy in_memory = policy;
  in_memory.uses_host_buffer = false;
  CHECK(leafctl::worker_checks({worker(0, "here", now + 401 * 24h, -400 * 24h)}, leaf_layout, {0, 1023}, now,
                               in_memory)
            .at(1)
            .hint ==
        "set it right; if it is right already, run 'leafctl workers release --worker-name here', then start "
        "again whatever runs under that name");
  CHECK(judge({worker(0, "here", now + 2001ms, 1h, false)}).size() == 1);
  CHECK(judge({worker(0, "here", now + 2002ms, 1h, false)}).at(1).state == CheckState::failed);
  CHECK(judge({worker(0, "there", now + 1h, 1h, false)}).size() == 1);
}

TEST_CASE("worker checks: workers that a clock far ahead was leased are a warning, with when they are over") {
  const Checks one =
      judge({worker(3, "gone", now + 401 * 24h, -400 * 24h), worker(4, "well", now + 1h, 0ms)});
  REQUIRE(one.size() == 2);
  CHECK(one[1].name == "workers");
  CHECK(one[1].state == CheckState::warning);
  CHECK(one[1].detail ==
        "worker 3 was leased while a clock was ahead: nobody gets it before 2027-12-24T11:06:40.000Z");
  const Checks two =
      judge({worker(3, "", now + 401 * 24h, -400 * 24h), worker(4, "gone", now + 402 * 24h, -400 * 24h)});
  REQUIRE(two.size() == 2);
  CHECK(two[1].detail ==
        "2 workers were leased while a clock was ahead: nobody gets any of them before "
        "2027-12-24T11:06:40.000Z, and the last not before 2027-12-25T11:06:40.000Z");
  CHECK(judge({worker(3, "gone", now - 1ms, -400 * 24h)}).size() == 1);
}

TEST_CASE("worker checks: a buffered window far ahead fails for this host's name, if it is of this store") {
  leaf::HostBuffer buffer;
  buffer.deployment = "a";
  buffer.copy = "1";
  buffer.kind = leaf::HostBuffer::Kind::worker;
  buffer.name = "here";
  buffer.in_use = true;
  buffer.layout = "leaf";
  buffer.window_begin = now + 2s;
  const auto judge_buffer = [&] {
    return leafctl::window_checks({buffer}, {.deployment = "a", .copy = "1"}, now, policy);
  };
  CHECK(judge_buffer().empty());
  buffer.layout = "30,10,2/1m";
  buffer.window_begin = now + 60s;
  CHECK(only(judge_buffer()).state == CheckState::failed);
  CHECK(only(judge_buffer()).detail ==
        "no ID can be made for 'here' before the next unit of time of layout "
        "'time:30,worker:10,sequence:2/1m@1288834974657' begins, in 1m");
  CHECK(only(judge_buffer()).hint == "wait until then, or allow calls that much time with '--timeout'");
  buffer.window_begin += 1ms;
  CHECK(only(judge_buffer()).hint.find("set it right") == 0);
  buffer.layout = "leaf";
  buffer.window_begin = now + 2s;
  buffer.window_begin += 1h;
  CHECK(only(judge_buffer()).state == CheckState::failed);
  CHECK(only(judge_buffer()).hint.find("release --worker-name here'") != std::string::npos);
  buffer.copy = "2";
  CHECK(judge_buffer().empty());
  buffer.copy = "1";
  buffer.deployment = "b";
  CHECK(judge_buffer().empty());
  buffer.deployment = "a";
  buffer.name = "there";
  CHECK(only(judge_buffer()).state == CheckState::warning);
  // Of a worker that is pinned.
  buffer.name = "here 5";
  CHECK(only(judge_buffer()).state == CheckState::warning);
  leafctl::WorkerPolicy pinned = policy;
  pinned.pinned = 5;
  const Check own = only(leafctl::window_checks({buffer}, {.deployment = "a", .copy = "1"}, now, pinned));
  CHECK(own.state == CheckState::failed);
  CHECK(own.hint.find("release --worker-name here'") != std::string::npos);
  CHECK(own.subject == "here");
  buffer.in_use = false;
  CHECK(judge_buffer().empty());
  buffer.in_use = true;
  buffer.kind = leaf::HostBuffer::Kind::tag;
  CHECK(judge_buffer().empty());
}

TEST_CASE("tag checks: what a script draws in a moment is no pace, and other copies do not count") {
  using namespace std::chrono_literals;
  leaf::HostBuffer buffer;
  buffer.name = "order";
  buffer.deployment = "a";
  buffer.copy = "1";
  buffer.in_use = true;
  buffer.current = {100, 200};
  buffer.ids_per_second = 100'000;
  buffer.pace_span = 5ms;
  const auto on_host = [&] { return leafctl::tags_on_host({buffer}, {.deployment = "a", .copy = "1"}); };
  REQUIRE(on_host().size() == 1);
  CHECK(on_host()[0].ids_per_second == 0);
  CHECK(on_host()[0].buffered == 100);
  leaf::Tag tag;
  tag.name = "order";
  tag.next_id = 200;
  tag.limit = 100'000'000;
  CHECK(leafctl::tag_checks({tag}, on_host()).at(0).state == leafctl::CheckState::ok);
  buffer.pace_span = 1min;
  CHECK(on_host()[0].ids_per_second == 100'000);
  CHECK(leafctl::tag_checks({tag}, on_host()).at(0).state == leafctl::CheckState::warning);
  SUBCASE("former") {
    buffer.is_former = true;
  }
  SUBCASE("another copy") {
    buffer.copy = "2";
  }
  SUBCASE("another deployment") {
    buffer.deployment = "b";
  }
  CHECK(on_host().empty());
}
