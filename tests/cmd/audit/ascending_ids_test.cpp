#include "audit/ascending_ids.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

using leafctl::AscendingIds;

namespace {

class Kept : public leafctl::AscendingSink {
 public:
  void take(std::span<const std::int64_t> more) override { ids.insert(ids.end(), more.begin(), more.end()); }
  void start_over() override { ids.clear(); }

  std::vector<std::int64_t> ids;
};

struct Outcome {
  std::vector<std::int64_t> ids;
  bool was_in_order;
  std::uint64_t file_size;
};

Outcome put_in_order(const std::vector<std::int64_t>& ids, std::size_t memory) {
  const leaf::test::TemporaryFolder folder;
  Kept kept;
  AscendingIds sorting(kept, {.memory = memory, .folder = folder.path().string()});
  constexpr std::size_t piece = 1000;
  for (std::size_t begin = 0; begin < ids.size(); begin += piece)
    sorting.add(std::span(ids).subspan(begin, std::min(piece, ids.size() - begin)));
  sorting.finish();
  return {kept.ids, sorting.was_in_order(), sorting.file_size()};
}

/// Neighbours are up to 2^(bits + 1) apart.
std::vector<std::int64_t> ascending(std::size_t count, int bits, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> ids;
  std::int64_t id = std::int64_t{1} << 40;
  for (std::size_t i = 0; i < count; ++i)
    ids.push_back(id += static_cast<std::int64_t>(random() >> (63 - bits)));
  return ids;
}

void check_order(std::vector<std::int64_t> ids, std::size_t memory) {
  const Outcome outcome = put_in_order(ids, memory);
  std::ranges::sort(ids);
  CHECK(outcome.ids == ids);
}

}  // namespace

TEST_CASE("audit: IDs in any order come in ascending order, with all their repeats, in any memory") {
  for (const std::size_t memory : {AscendingIds::least_memory, std::size_t{300'000}, std::size_t{64} << 20}) {
    for (const int bits : {0, 1, 10, 34}) {
      CAPTURE(memory);
      CAPTURE(bits);
      std::vector<std::int64_t> ids = ascending(50'000, bits, 3);
      check_order(ids, memory);
      std::ranges::reverse(ids);
      check_order(ids, memory);
      std::ranges::shuffle(ids, std::mt19937_64(4));
      check_order(ids, memory);
    }
  }
}

TEST_CASE("audit: more runs than are merged at once, and all from a file") {
  std::vector<std::int64_t> ids = ascending(400'000, 34, 5);
  std::ranges::shuffle(ids, std::mt19937_64(6));
  const Outcome outcome = put_in_order(ids, AscendingIds::least_memory);
  CHECK(outcome.file_size > 400'000);
  std::ranges::sort(ids);
  CHECK(outcome.ids == ids);
}

TEST_CASE("audit: the extremes, nothing at all, and one ID many times") {
  check_order({}, 0);
  check_order({0}, 0);
  check_order({INT64_MAX, 0, INT64_MAX}, 0);
  check_order(std::vector<std::int64_t>(50'000, 7), AscendingIds::least_memory);
  std::vector<std::int64_t> ids(50'000, INT64_MAX);
  ids.back() = 0;
  check_order(ids, AscendingIds::least_memory);
  std::vector<std::int64_t> falling;
  for (std::int64_t id = 50'000; id-- > 0;) falling.push_back(INT64_MAX - id % 100);
  check_order(falling, AscendingIds::least_memory);
}

TEST_CASE("audit: what is nearly in order passes at once") {
  std::vector<std::int64_t> ids = ascending(100'000, 20, 7);
  std::mt19937_64 random(8);
  for (std::size_t i = 0; i + 20 < ids.size(); i += 20) {
    std::shuffle(ids.begin() + static_cast<std::ptrdiff_t>(i),
                 ids.begin() + static_cast<std::ptrdiff_t>(i + 20), random);
  }
  const Outcome outcome = put_in_order(ids, AscendingIds::least_memory);
  CHECK(outcome.was_in_order);
  std::ranges::sort(ids);
  CHECK(outcome.ids == ids);
}

TEST_CASE("audit: one ID far behind, at the very end, is put where it belongs") {
  std::vector<std::int64_t> ids = ascending(100'000, 20, 9);
  ids.push_back(ids[17]);
  const Outcome outcome = put_in_order(ids, AscendingIds::least_memory);
  CHECK_FALSE(outcome.was_in_order);
  std::ranges::sort(ids);
  CHECK(outcome.ids == ids);
}

TEST_CASE("audit: near numbers in no order take a bit each, those far from them too are found") {
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 1000; id < 101'000; ++id) ids.push_back(id);
  ids.insert(ids.end(), {5, 5, 2000, 2000, 500'000, std::int64_t{1} << 60});
  std::ranges::shuffle(ids, std::mt19937_64(10));
  const Outcome outcome = put_in_order(ids, std::size_t{256} << 10);
  CHECK(outcome.file_size == 0);
  std::ranges::sort(ids);
  CHECK(outcome.ids == ids);
}

TEST_CASE("audit: without room for files what is in order is fine, and what is not is an error") {
  Kept kept;
  const AscendingIds::Options options{.memory = AscendingIds::least_memory, .folder = "/nonexistent"};
  std::vector<std::int64_t> ids = ascending(100'000, 34, 11);
  AscendingIds sorting(kept, options);
  sorting.add(ids);
  sorting.finish();
  CHECK(kept.ids == ids);
  Kept other;
  AscendingIds unsorted(other, options);
  unsorted.add(ids);
  CHECK(leaf::test::error_text([&] {
          unsorted.add(std::vector<std::int64_t>{1});
          unsorted.finish();
        }).starts_with("cannot make a temporary file in '/nonexistent'"));
}
