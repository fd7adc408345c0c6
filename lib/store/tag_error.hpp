#pragma once

#include <cstdint>

#include "leaf/error.hpp"
#include "leaf/tag.hpp"

namespace leaf::store {

/// Throw Error (usage) if a value is out of bounds.
void require_valid(const NewTag& tag);
void require_valid(const TagChange& change);

/// IDs up to `mark` were granted to this host before.
Error gone_back(const TagName& name, std::int64_t mark);

/// As gone_back(), where the store has no row of the tag, not even a tombstone.
Error lost_tag(ErrorCode code, const TagName& name, std::int64_t mark);

/// For attempt(), which tries again: somebody has changed the tag between a statement and a look at why it
/// did nothing.
Error changed_meanwhile(const TagName& tag);

/// Says how many IDs `tag` has left: what it can still grant, and the `buffered` ones of whoever asks.
Error too_few_left(const Tag& tag, std::uint64_t buffered = 0);

}  // namespace leaf::store
