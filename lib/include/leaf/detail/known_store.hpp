#pragma once

#include <string>

#include "leaf/error.hpp"
#include "leaf/export.hpp"

namespace leaf::detail {

// Not a part of the interface: shared by the library and its command-line program.

/// Whether the hint of `error` is to create a database or its tables.
LEAF_EXPORT bool says_to_create_store(const Error& error);

/// What to do about a store that is missing, or has no tables, though the caller has drawn from it.
LEAF_EXPORT std::string known_store_hint();

/// `error`, with that hint in the place of one to create the store: one that is made in its place would give
/// out the same IDs.
LEAF_EXPORT Error with_known_store(const Error& error);

}  // namespace leaf::detail
