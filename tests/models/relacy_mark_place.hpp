#pragma once

/// The library's own marks of a host, compiled against relacy's atomics.

#include <algorithm>
#include <array>

#include "leaf/range.hpp"
#include "store/grant_marks.hpp"

#include "relacy_atomic.hpp"

#define std leaf_model
#include "host/mark_place.hpp"
#undef std
