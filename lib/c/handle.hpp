#pragma once

// For the files that define a handle of leaf.h, and for no others: handles are global, as C has them, and so
// are these names.

#include "c/error.hpp"
#include "c/options.hpp"
#include "c/per_process.hpp"

using leaf::c::guarded;
using leaf::c::made;
using leaf::c::PerProcess;
using leaf::c::Settings;
