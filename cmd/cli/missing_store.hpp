#pragma once

#include <optional>

#include "cli/command.hpp"
#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "leaf/store_identity.hpp"

namespace leafctl {

/// False for a file whose folder is not there.
bool has_place_for_store(const Session& session);

/// The store that the configured name led to when this host asked last; none if that is not known.
std::optional<leaf::StoreIdentity> known_store(const Session& session);

/// True if this host has had IDs of a store of the configured name: one that is made in its place would give
/// them out again.
bool has_known_store(const Session& session);

/// Has this host know that the configured name leads to `found`, as `store` has said: for draws that leave no
/// buffer.
void remember_store(const Session& session, leaf::Store& store, const leaf::StoreIdentity& found);

/// Has this host draw from `store` from now on if the configured name led to another one before: after a
/// raise, say, the next IDs must not be that one's. Says nothing if the store cannot be asked: what was done
/// is done.
void follow_store(const Session& session, leaf::Store& store);

/// `error`; if this host knows the store, with the hint to look for it in the place of one to make it.
leaf::Error with_known_store(const leaf::Error& error, const Session& session);

}  // namespace leafctl
