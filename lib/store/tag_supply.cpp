#include <algorithm>

#include "leaf/tag.hpp"

namespace leaf {

TagSupply supply_of(std::int64_t first, std::int64_t limit, std::int64_t next_id,
                    std::uint64_t buffered) noexcept {
  const std::int64_t from = std::max(first, next_id);
  const std::uint64_t in_store = from > limit ? 0 : static_cast<std::uint64_t>(limit - from) + 1;
  const std::uint64_t all = first > limit ? 0 : static_cast<std::uint64_t>(limit - first) + 1;
  // Of a store that has gone back both may count the same IDs.
  const std::uint64_t left = buffered > all ? all : std::min(in_store + buffered, all);
  return {.first = first, .limit = limit, .left = static_cast<std::int64_t>(left)};
}

TagSupply supply_of(const Tag& tag, std::uint64_t buffered) noexcept {
  return supply_of(tag.start.value_or(1), tag.limit.value_or(max_id), tag.next_id, buffered);
}

}  // namespace leaf
