#include "audit/id_sort.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace leafctl {

namespace {

constexpr std::size_t digit_bits = 8;
constexpr std::size_t digits = 64 / digit_bits;
constexpr std::size_t values = std::size_t{1} << digit_bits;

std::size_t digit_of(std::int64_t id, std::size_t digit) {
  return static_cast<std::uint64_t>(id) >> (digit * digit_bits) & (values - 1);
}

}  // namespace

void sort_ids(std::span<std::int64_t> ids, std::span<std::int64_t> scratch) {
  constexpr std::size_t worth_counting = 1024;
  if (ids.size() < worth_counting) {
    std::ranges::sort(ids);
    return;
  }
  std::array<std::array<std::size_t, values>, digits> counts{};
  for (const std::int64_t id : ids) {
    for (std::size_t digit = 0; digit < digits; ++digit) ++counts[digit][digit_of(id, digit)];
  }
  std::span<std::int64_t> from = ids;
  std::span<std::int64_t> to = scratch.first(ids.size());
  for (std::size_t digit = 0; digit < digits; ++digit) {
    auto& places = counts[digit];
    // A digit that is the same in all of them, as the first ones of snowflake IDs are, orders nothing.
    if (places[digit_of(from.front(), digit)] == from.size()) continue;
    std::size_t place = 0;
    for (std::size_t& count : places) place += std::exchange(count, place);
    for (const std::int64_t id : from) to[places[digit_of(id, digit)]++] = id;
    std::swap(from, to);
  }
  if (from.data() != ids.data()) std::ranges::copy(from, ids.begin());
}

}  // namespace leafctl
