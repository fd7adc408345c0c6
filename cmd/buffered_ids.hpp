#pragma once

#include <cstdint>

#include "command.hpp"
#include "leaf/tag.hpp"

namespace leafctl {

/// Gives up what this host has buffered of `tag` below `floor`, after `store` was changed. A failure is
/// reported as a warning: the change itself is done.
void drop_buffered_ids(leaf::Store& store, const leaf::TagName& tag, std::int64_t floor, Session& session);

/// Forgets what this host knows of the store that was here before one was made anew. Failures as above.
void forget_former_store(Session& session);

}  // namespace leafctl
