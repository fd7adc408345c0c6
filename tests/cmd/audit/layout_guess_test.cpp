#include "audit/layout_guess.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

using leafctl::guess_layout;
using leafctl::LayoutGuess;

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

const leaf::UnixTime today = std::chrono::sys_days(std::chrono::year(2026) / 11 / 22);

/// IDs of `workers` hosts over the hours before `now`, so many in each hour, a few of them in one unit.
std::vector<std::int64_t> made(const leaf::Layout& layout, int workers, int per_hour, int hours_long,
                               leaf::UnixTime now) {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> ids;
  for (int hour = hours_long; hour > 0; --hour) {
    for (int i = 0; i < per_hour; ++i) {
      const leaf::UnixTime time = now - hours(hour) + milliseconds(i * 3'600'000LL / per_hour);
      const auto worker = static_cast<std::int64_t>(random() % static_cast<unsigned>(workers)) * 3 + 1;
      for (std::int64_t sequence = 0; sequence <= static_cast<std::int64_t>(random() % 3); ++sequence) {
        ids.push_back(layout.compose(time, std::min(worker, layout.max_worker()), sequence));
      }
    }
  }
  return ids;
}

/// The known layouts that tell the same times as others, and workers by other bits, cannot be told apart.
bool is_alike(std::string_view left, std::string_view right) {
  const auto kind = [](std::string_view name) { return name == "twitter" ? "leaf" : name; };
  return kind(left) == kind(right);
}

}  // namespace

TEST_CASE("audit: IDs of now are taken for what they are, of few hosts and many, slow and fast") {
  for (const auto& known : leaf::known_layouts()) {
    const leaf::Layout layout = leaf::Layout::parse(known.name);
    for (const int workers : {1, 5}) {
      for (const int per_hour : {20, 2000}) {
        CAPTURE(known.name);
        CAPTURE(workers);
        CAPTURE(per_hour);
        const leaf::UnixTime now = std::min(today, layout.last_time());
        const LayoutGuess guess = guess_layout(made(layout, workers, per_hour, 20, now), std::nullopt, now);
        CHECK(guess.is_known);
        CHECK((guess.is_sure || known.name == "sonyflake"));
        CHECK_MESSAGE(is_alike(guess.candidates.front().name, known.name), guess.candidates.front().name);
      }
    }
  }
}

TEST_CASE("audit: numbers that are counted up are taken for that, with gaps and in no order") {
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 1; id < 5000; ++id) {
    if (id % 7 != 0) ids.push_back(id * 4999 % 5003);
  }
  LayoutGuess guess = guess_layout(ids, std::nullopt, today);
  CHECK(guess.is_sure);
  CHECK(guess.candidates.front().name == "dense");
  CHECK_FALSE(guess.candidates.front().layout);
  for (std::int64_t& id : ids) id = 900'000'000 + id * 100;
  guess = guess_layout(ids, std::nullopt, today);
  CHECK(guess.candidates.front().name == "dense");
}

TEST_CASE("audit: random numbers are nothing that is known") {
  std::mt19937_64 random(2);
  std::vector<std::int64_t> ids(1000);
  for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() >> 1);
  CHECK_FALSE(guess_layout(ids, std::nullopt, today).is_known);
  CHECK_FALSE(guess_layout({}, std::nullopt, today).is_known);
}

TEST_CASE("audit: IDs of long ago that another epoch makes younger leave it unsure") {
  const leaf::Layout leaf_layout = leaf::Layout::parse("leaf");
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 1000; ++i)
    ids.push_back(leaf_layout.compose(today - std::chrono::years(10) + std::chrono::minutes(i), 3, 0));
  const LayoutGuess guess = guess_layout(ids, std::nullopt, today);
  CHECK(guess.is_known);
  CHECK_FALSE(guess.is_sure);
}

TEST_CASE("audit: the layout that a host is set to is among the candidates, and comes first of equals") {
  const leaf::Layout own = leaf::Layout::parse("time:41,room:4,worker:6,sequence:12/1ms@1288834974657");
  const LayoutGuess guess = guess_layout(made(own, 5, 20, 20, today), own, today);
  CHECK(guess.candidates.front().name == own.name());
  CHECK(guess.is_sure);
}
