#include "bench/latency_histogram.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

using leafctl::LatencyHistogram;
using std::chrono::nanoseconds;

namespace {

constexpr double shares[] = {0.001, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0};

/// The least of `sorted` that the share of all does not exceed.
std::int64_t exact_quantile(const std::vector<std::int64_t>& sorted, double share) {
  return sorted.at(static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size()))) - 1);
}

void check_against_exact_quantiles(std::vector<std::int64_t> values) {
  const auto histogram = std::make_unique<LatencyHistogram>();
  for (const std::int64_t value : values) histogram->record(nanoseconds(value));
  std::sort(values.begin(), values.end());
  CHECK(histogram->count() == values.size());
  CHECK(histogram->max().count() == values.back());
  for (const double share : shares) {
    CAPTURE(share);
    const std::int64_t exact = exact_quantile(values, share);
    CHECK(histogram->quantile(share).count() >= exact);
    CHECK(static_cast<double>(histogram->quantile(share).count()) <= 1.008 * static_cast<double>(exact));
  }
}

}  // namespace

TEST_CASE("latency histogram: quantiles are never too low and at most 0.8% too high") {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> values(100'000);
  SUBCASE("where all latencies are as frequent") {
    for (auto& value : values) value = std::uniform_int_distribution<std::int64_t>(1, 50'000'000)(random);
  }
  SUBCASE("where few are a million times as long as most") {
    for (auto& value : values) value = std::llround(std::lognormal_distribution<>(std::log(80), 3)(random));
  }
  SUBCASE("where there are two humps") {
    for (auto& value : values) {
      const double mean = random() % 10 == 0 ? 3e6 : 40;
      value = std::llround(std::max(std::normal_distribution<>(mean, mean / 20)(random), 0.0));
    }
  }
  SUBCASE("where there are few") {
    values = {3, 999, 1'000, 128, 255, 256, 257};
  }
  SUBCASE("where there is one") {
    values = {123'456'789'012};
  }
  check_against_exact_quantiles(values);
}

TEST_CASE("latency histogram: each latency comes back with its error, from 0 to the longest there is") {
  for (std::int64_t value = 0; value < 70'000; ++value) {
    const auto histogram = std::make_unique<LatencyHistogram>();
    histogram->record(nanoseconds(value));
    histogram->record(nanoseconds::max());
    const std::int64_t got = histogram->quantile(0.5).count();
    if (got < value || got > value + value / 128) FAIL(value << " came back as " << got);
    REQUIRE(histogram->quantile(1) == nanoseconds::max());
    value += value / 1000;
  }
}

TEST_CASE("latency histogram: those of several threads add up to one") {
  std::mt19937_64 random(11);
  const auto all = std::make_unique<LatencyHistogram>();
  const auto sum = std::make_unique<LatencyHistogram>();
  for (int thread = 0; thread < 3; ++thread) {
    const auto one = std::make_unique<LatencyHistogram>();
    for (int i = 0; i < 10'000; ++i) {
      const nanoseconds latency(static_cast<std::int64_t>(random() >> (20 + random() % 40)));
      all->record(latency);
      one->record(latency);
    }
    sum->merge(*one);
  }
  CHECK(sum->count() == 30'000);
  CHECK(sum->max() == all->max());
  for (const double share : shares) CHECK(sum->quantile(share) == all->quantile(share));
}

TEST_CASE("latency histogram: counts what lies below an edge") {
  const auto histogram = std::make_unique<LatencyHistogram>();
  for (const std::int64_t value : {0, 1, 99, 100, 101, 5'000}) histogram->record(nanoseconds(value));
  CHECK(histogram->count_below(nanoseconds(0)) == 0);
  CHECK(histogram->count_below(nanoseconds(1)) == 1);
  CHECK(histogram->count_below(nanoseconds(100)) == 3);
  CHECK(histogram->count_below(nanoseconds(1'000)) == 5);
  CHECK(histogram->count_below(nanoseconds(10'000)) == 6);
}

TEST_CASE("latency histogram: without a call all is zero") {
  const auto histogram = std::make_unique<LatencyHistogram>();
  CHECK(histogram->count() == 0);
  CHECK(histogram->max() == nanoseconds(0));
  CHECK(histogram->quantile(0.5) == nanoseconds(0));
}
