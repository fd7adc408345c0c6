#include "audit/rate_series.hpp"

#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <random>

using leafctl::RateSeries;

TEST_CASE("audit: a series counts what was there at any time, in stretches that grow") {
  std::mt19937_64 random(1);
  for (const int bits : {3, 12, 13, 20, 41, 62}) {
    RateSeries series;
    std::map<std::int64_t, std::uint64_t> all;
    for (int i = 0; i < 2000; ++i) {
      const auto tick = static_cast<std::int64_t>(random() >> (64 - bits));
      all[tick] += 3;
      series.add(tick, 3);
    }
    CHECK(series.counts().size() <= RateSeries::most_stretches);
    CHECK(series.begin() <= all.begin()->first);
    for (std::size_t i = 0; i < series.counts().size(); ++i) {
      const std::int64_t begin = series.begin() + static_cast<std::int64_t>(i) * series.stretch();
      std::uint64_t wanted = 0;
      for (auto at = all.lower_bound(begin); at != all.end() && at->first - begin < series.stretch(); ++at)
        wanted += at->second;
      if (series.counts()[i] != wanted) CHECK(series.counts()[i] == wanted);
    }
    CHECK(std::accumulate(series.counts().begin(), series.counts().end(), std::uint64_t{0}) == 6000);
  }
}

TEST_CASE("audit: a series of few units has a stretch for each") {
  RateSeries series;
  CHECK(series.empty());
  series.add(1000, 1);
  series.add(1002, 2);
  series.add(998, 3);
  CHECK(series.begin() == 998);
  CHECK(series.stretch() == 1);
  CHECK(series.counts() == std::vector<std::uint64_t>{3, 0, 1, 0, 2});
}
