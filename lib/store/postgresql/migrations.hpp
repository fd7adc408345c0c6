#pragma once

#include <vector>

#include "leaf/store.hpp"

namespace leaf::store::postgresql {

/// What lies in migrations/postgresql, in order; made by the build.
const std::vector<Migration>& migrations();

}  // namespace leaf::store::postgresql
