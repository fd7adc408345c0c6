#pragma once

/// The library's own double buffer, compiled against relacy's atomics.

#include <algorithm>

#include "leaf/export.hpp"
#include "leaf/range.hpp"

#include "relacy_atomic.hpp"

#define std leaf_model
#include "leaf/detail/double_buffer.hpp"
#include "range/double_buffer.cpp"
#undef std
