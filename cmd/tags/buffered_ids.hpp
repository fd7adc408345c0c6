#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "leaf/tag.hpp"

namespace leafctl {

/// A tag of which no ID below `floor` may be given out any more.
struct TagFloor {
  leaf::TagName tag;
  std::int64_t floor;
};

/// Gives up what this host has buffered of `tags` below that, after `store` was changed. Returns how many IDs
/// that were. A failure is reported as a warning: the change itself is done.
std::uint64_t drop_buffered_ids(leaf::Store& store, const std::vector<TagFloor>& tags, Session& session);

/// Gives up what this host has buffered ahead of its clock for workers of `owner`, or for `worker` alone,
/// which were released. Failures as above.
void drop_windows_ahead(leaf::Store& store, const std::string& owner, std::optional<std::int64_t> worker,
                        Session& session);

/// Warns, also where only errors are printed, if this host has drawn from a store of the configured name and
/// there is none now: one that is made gives out the same IDs.
void warn_of_former_store(Session& session);

/// Forgets what this host knows of the store that was here before one was made anew. Failures as above.
void forget_former_store(Session& session);

/// Gives up what this host has buffered of `former`, which `store` was until now. Failures as above.
void leave_deployment(const leaf::StoreIdentity& former, leaf::Store& store, Session& session);

}  // namespace leafctl
