#pragma once

#include <cstdint>

#include "leaf/error.hpp"
#include "leaf/tag.hpp"

namespace leaf::store {

/// For attempt(), which tries again: somebody has changed the tag between a statement and a look at why it
/// did nothing.
Error changed_meanwhile(const TagName& tag);

/// Says how many IDs `tag` has left: what it can still grant, and the `buffered` ones of whoever asks.
Error too_few_left(const Tag& tag, std::uint64_t buffered = 0);

}  // namespace leaf::store
