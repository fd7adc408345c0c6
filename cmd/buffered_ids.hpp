#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command.hpp"
#include "leaf/tag.hpp"

namespace leafctl {

/// Gives up what this host has buffered of `tag` below `floor`, after the store was changed. A failure is
/// reported as a warning: the change itself is done.
void drop_buffered_ids(const leaf::TagName& tag, std::int64_t floor, Session& session);

/// Gives up what this host has buffered ahead of its clock for workers of `owner`, or for `worker` alone,
/// which were released. Failures as above.
void drop_windows_ahead(const std::string& owner, std::optional<std::int64_t> worker, Session& session);

/// Gives up all that this host has buffered of the store, which was made anew. Failures as above.
void drop_all_buffered_ids(Session& session);

}  // namespace leafctl
