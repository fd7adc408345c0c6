#pragma once

#include <cstdint>

#include "command.hpp"
#include "leaf/tag.hpp"

namespace leafctl {

/// Gives up what this host has buffered of `tag` below `floor`, after the store was changed. A failure is
/// reported as a warning: the change itself is done.
void drop_buffered_ids(const leaf::TagName& tag, std::int64_t floor, Session& session);

/// Gives up all that this host has buffered of the store, which was made anew. Failures as above.
void drop_all_buffered_ids(Session& session);

}  // namespace leafctl
