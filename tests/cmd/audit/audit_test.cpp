#include "audit/audit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "audit/report.hpp"
#include "support/temporary_folder.hpp"

using leafctl::AscendingIds;
using leafctl::Audit;
using leafctl::Tally;
using leafctl::WorkerUse;

namespace {

const leaf::UnixTime now = std::chrono::sys_days(std::chrono::year(2026) / 11 / 22);

struct Looked {
  leaf::test::TemporaryFolder folder;
  Audit audit;

  Looked(const std::vector<std::int64_t>& ids, Audit::Options options, std::size_t memory)
      : audit(with(options, memory, folder)) {
    for (std::size_t begin = 0; begin < ids.size(); begin += 999)
      audit.add(std::span(ids).subspan(begin, std::min<std::size_t>(999, ids.size() - begin)));
    audit.finish();
  }

 private:
  static Audit::Options with(Audit::Options options, std::size_t memory,
                             const leaf::test::TemporaryFolder& folder) {
    options.now = now;
    options.sorting = {.memory = memory, .folder = folder.path().string()};
    return options;
  }
};

/// What the audit says of numbers is what a set says.
void check_numbers(const std::vector<std::int64_t>& ids, std::size_t memory) {
  std::map<std::int64_t, std::uint64_t> times;
  for (const std::int64_t id : ids) ++times[id];
  const Looked looked(ids, {.kind = Audit::Kind::dense}, memory);
  const Tally& tally = looked.audit.tally();
  CHECK(tally.count() == ids.size());
  CHECK(tally.distinct() == times.size());
  std::vector<std::pair<std::int64_t, std::uint64_t>> repeated;
  std::vector<std::pair<std::uint64_t, std::int64_t>> gaps;
  std::uint64_t missing = 0;
  for (auto at = times.begin(); at != times.end(); ++at) {
    if (at->second > 1) repeated.emplace_back(*at);
    if (at == times.begin() || std::prev(at)->first + 1 == at->first) continue;
    const std::int64_t first = std::prev(at)->first + 1;
    gaps.emplace_back(at->first - first, -first);
    missing += gaps.back().first;
  }
  CHECK(tally.repeated() == repeated.size());
  CHECK(tally.repeats() == ids.size() - times.size());
  REQUIRE(tally.examples().size() == std::min<std::size_t>(repeated.size(), 10));
  for (std::size_t i = 0; i < tally.examples().size(); ++i) {
    CHECK(tally.examples()[i].id == repeated[i].first);
    CHECK(tally.examples()[i].times == repeated[i].second);
  }
  CHECK(tally.gaps() == gaps.size());
  CHECK(tally.missing() == missing);
  std::ranges::sort(gaps, std::greater{});
  REQUIRE(tally.largest_gaps().size() == std::min<std::size_t>(gaps.size(), 10));
  for (std::size_t i = 0; i < tally.largest_gaps().size(); ++i) {
    CHECK(tally.largest_gaps()[i].size == gaps[i].first);
    CHECK(tally.largest_gaps()[i].first == -gaps[i].second);
  }
}

const leafctl::Finding& finding(const leafctl::Findings& findings, std::string_view name) {
  const auto found = std::ranges::find(findings, name, &leafctl::Finding::name);
  REQUIRE(found != findings.end());
  return *found;
}

}  // namespace

TEST_CASE("audit: count, distinct, repeats and gaps are those of a set, in any order and memory") {
  std::mt19937_64 random(1);
  for (const std::size_t memory : {AscendingIds::least_memory, std::size_t{64} << 20}) {
    for (const int bits : {12, 17, 24, 63}) {
      CAPTURE(memory);
      CAPTURE(bits);
      std::vector<std::int64_t> ids(40'000);
      for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() >> (64 - bits));
      for (int i = 0; i < 30; ++i) ids.push_back(ids[random() % ids.size()]);
      check_numbers(ids, memory);
      std::ranges::sort(ids);
      check_numbers(ids, memory);
    }
  }
}

TEST_CASE("audit: one repeat among distinct IDs is found wherever the two stand") {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < 60'000; ++i) ids.push_back((i << 33) + 5);
  std::ranges::shuffle(ids, std::mt19937_64(2));
  for (const auto& [from, to] : {std::pair(0, 59'999), {59'999, 0}, {0, 1}, {30'000, 2}}) {
    std::vector<std::int64_t> planted = ids;
    planted[static_cast<std::size_t>(to)] = planted[static_cast<std::size_t>(from)];
    const Looked looked(planted, {.kind = Audit::Kind::dense}, AscendingIds::least_memory);
    CHECK(looked.audit.tally().repeats() == 1);
    REQUIRE(looked.audit.tally().examples().size() == 1);
    CHECK(looked.audit.tally().examples()[0].id == ids[static_cast<std::size_t>(from)]);
  }
}

TEST_CASE("audit: peaks of a second and a unit are exact, also of IDs in no order") {
  const leaf::Layout layout = leaf::Layout::parse("leaf");
  std::mt19937_64 random(3);
  std::vector<std::int64_t> ids;
  std::map<std::int64_t, std::uint64_t> units, seconds;
  for (int i = 0; i < 50'000; ++i) {
    const leaf::UnixTime time = now - std::chrono::milliseconds(random() % 100'000);
    ids.push_back(layout.compose(time, 1, i % 4096));
    ++units[time.time_since_epoch().count()];
    ++seconds[time.time_since_epoch().count() / 1000];
  }
  const auto most = [](const auto& counts) {
    return std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->second;
  };
  for (int turn = 0; turn < 2; ++turn) {
    const Looked looked(ids, {.kind = Audit::Kind::snowflake, .layout = layout}, AscendingIds::least_memory);
    CHECK(looked.audit.tally().unit_peak().count == most(units));
    CHECK(looked.audit.tally().second_peak().count == most(seconds));
    std::ranges::sort(ids);
  }
}

TEST_CASE("audit: a worker of two hosts, a clock that went back, and the repeats of each worker are told") {
  const leaf::Layout layout = leaf::Layout::parse("leaf");
  std::vector<std::int64_t> ids;
  const auto made = [&](int ms, std::int64_t worker, std::int64_t sequence) {
    ids.push_back(
        layout.compose(now - std::chrono::hours(1) + std::chrono::milliseconds(ms), worker, sequence));
  };
  for (int ms = 0; ms < 1000; ++ms) {
    made(ms, 1, 0);
    made(ms, 1, 1);
    made(ms, 2, 0);
    made(ms < 500 ? ms : ms - 40, 3, ms < 500 ? 0 : 1);  // once
    if (ms % 100 == 0) {                                 // the other host of worker 2, which made 5 before
      made(ms, 2, 6);
      made(ms, 2, 5);
    }
    if (ms % 250 == 0) made(ms, 4, 0);
  }
  ids.push_back(ids.front());
  const Looked looked(ids, {.kind = Audit::Kind::snowflake, .layout = layout}, AscendingIds::least_memory);
  std::map<std::int64_t, WorkerUse> workers;
  for (const WorkerUse& use : looked.audit.workers().workers()) workers[use.worker] = use;
  CHECK(workers[1].repeats == 1);
  CHECK(workers[1].steps_back == 1);
  CHECK(workers[1].sequence_back == 0);
  CHECK(workers[2].sequence_back == 10);
  CHECK(workers[2].steps_back == 0);
  CHECK(workers[2].repeats == 0);
  CHECK(workers[3].steps_back == 1);
  CHECK(workers[3].longest_step == 39);
  CHECK(workers[3].sequence_back == 0);
  CHECK(workers[4].count == 4);
  const auto findings = report(looked.audit, {.now = now});
  CHECK(finding(findings, "shared_workers").state == leafctl::FindingState::failed);
  CHECK(finding(findings, "shared_workers").measures[0].value ==
        decltype(leafctl::Measure::value)(std::int64_t{2}));
  CHECK(finding(findings, "clocks").state == leafctl::FindingState::warning);
  CHECK(finding(findings, "repeats").state == leafctl::FindingState::failed);
  CHECK(finding(findings, "repeat").subject == std::to_string(ids.front()));
}

TEST_CASE("audit: IDs in no order tell nothing of clocks, nor of workers but by repeats") {
  const leaf::Layout layout = leaf::Layout::parse("leaf");
  std::vector<std::int64_t> ids;
  for (int ms = 0; ms < 10'000; ++ms)
    ids.push_back(layout.compose(now - std::chrono::milliseconds(ms), 1, 0));
  std::ranges::shuffle(ids, std::mt19937_64(4));
  const Looked looked(ids, {.kind = Audit::Kind::snowflake, .layout = layout}, AscendingIds::least_memory);
  const auto findings = report(looked.audit, {.now = now});
  CHECK(finding(findings, "shared_workers").state == leafctl::FindingState::unknown);
  CHECK(finding(findings, "clocks").state == leafctl::FindingState::unknown);
  CHECK(finding(findings, "repeats").state == leafctl::FindingState::ok);
}

TEST_CASE(
    "audit: IDs that the guessed layout does not hold are counted apart, and for repeats all the same") {
  const leaf::Layout layout = leaf::Layout::parse("leaf");
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 200'000; ++i)
    ids.push_back(layout.compose(now - std::chrono::seconds(200'000 - i), 1, i % 2));
  ids.push_back(INT64_MAX);
  ids.push_back(INT64_MAX);
  const leaf::Layout narrow = leaf::Layout::parse("time:40,worker:10,sequence:12/1ms@1288834974657");
  const Looked looked(ids, {.kind = Audit::Kind::snowflake, .layout = narrow}, AscendingIds::least_memory);
  CHECK(looked.audit.tally().outside() == 2);
  CHECK(looked.audit.tally().repeats() == 1);
  const Looked guessed(ids, {}, AscendingIds::least_memory);
  REQUIRE(guessed.audit.layout());
  CHECK(*guessed.audit.layout() == layout);
}
