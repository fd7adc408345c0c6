#pragma once

/// The library's own count of store changes, compiled against relacy's atomics.

#include "relacy_atomic.hpp"

#undef delete  // Relacy's, for what allocates
#define std leaf_model
#include "range/store_changes.hpp"
#undef std
