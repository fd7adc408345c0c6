#include "audit/worker_table.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

using leafctl::WorkerTable;
using leafctl::WorkerUse;

TEST_CASE("audit: steps back of a worker's time and sequence numbers are told apart, each worker by itself") {
  WorkerTable table;
  table.add(5, 100, 0);
  table.add(5, 100, 1);
  table.add(6, 90, 7);  // another worker's time is its own
  table.add(5, 100, 1);
  table.add(5, 100, 0);
  table.add(5, 101, 0);
  table.add(5, 98, 9);
  table.add(5, 97, 0);
  table.add(5, 102, 0);
  const WorkerUse& five = table.workers().at(0);
  CHECK(five.worker == 5);
  CHECK(five.count == 8);
  CHECK(five.sequence_back == 2);
  CHECK(five.steps_back == 2);
  CHECK(five.longest_step == 3);
  CHECK(five.first_tick == 97);
  CHECK(five.last_tick == 102);
  const WorkerUse& six = table.workers().at(1);
  CHECK(six.count == 1);
  CHECK(six.sequence_back == 0);
  CHECK(six.steps_back == 0);
  table.add_repeat(6);
  table.add_repeat(7);
  CHECK(six.repeats == 1);
  table.forget_repeats();
  CHECK(six.repeats == 0);
}

TEST_CASE("audit: as many workers as there may be are found again, the rest are counted") {
  WorkerTable table;
  std::mt19937_64 random(1);
  std::map<std::int64_t, std::uint64_t> counts;
  constexpr std::size_t more = 100;
  for (std::size_t i = 0; i < WorkerTable::most_workers + more; ++i) {
    const auto worker = static_cast<std::int64_t>(i << 20);
    for (auto times = random() % 3 + 1; times > 0; --times) {
      table.add(worker, 1, 1);
      ++counts[worker];
    }
  }
  CHECK(table.workers().size() == WorkerTable::most_workers);
  std::uint64_t wrong = 0;
  for (const WorkerUse& use : table.workers()) {
    if (use.count != counts[use.worker]) ++wrong;
    counts.erase(use.worker);
  }
  CHECK(wrong == 0);
  CHECK(counts.size() == more);
  std::uint64_t beyond = 0;
  for (const auto& [worker, count] : counts) beyond += count;
  CHECK(table.beyond() == beyond);
}
