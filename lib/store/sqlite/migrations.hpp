#pragma once

#include <vector>

#include "leaf/store.hpp"

namespace leaf::store::sqlite {

/// What lies in migrations/sqlite, in order; made by the build.
const std::vector<Migration>& migrations();

}  // namespace leaf::store::sqlite
