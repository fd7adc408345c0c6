#pragma once

#include <string>

namespace leaf::store {

/// 122 random bits: no two are ever the same. Throws Error (failed) where the system has none.
std::string new_uuid();

}  // namespace leaf::store
