#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "leaf/tag.hpp"
#include "store/connection.hpp"

namespace leaf::store {

/// What one look at a tag finds: a second one might miss a tag that is removed, and added again, as the
/// first.
struct FoundTag {
  bool is_known = false;  ///< the store has a row of it, be it a tombstone
  std::optional<Tag> tag{};
  std::optional<std::int64_t> end_of_removed{};  ///< the first ID that it has not given out
};

/// Whether a tag that was granted up to `mark` is missing, or was removed before it had granted that: then
/// the store has gone back.
inline bool is_lost(const FoundTag& found, std::int64_t mark) {
  return !found.tag && mark > found.end_of_removed.value_or(0);
}

/// `row` is a "tag" of Sql.
Tag tag_of(const Row& row);

/// `row` is one that Sql::tag or tags_named gave.
FoundTag found_in(const Row& row);
/// `rows` is what Sql::tag gave.
FoundTag found_in(const std::vector<Row>& rows);

}  // namespace leaf::store
