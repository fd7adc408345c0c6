#pragma once

#include <map>
#include <span>
#include <string>

#include "leaf/store.hpp"

namespace leaf::store {

/// The functions that these have made and not dropped, as NAME/ARGUMENTS, and the statements that make them
/// as they are now, with their settings and rights.
std::map<std::string, std::string> functions_of(std::span<const Migration> migrations);

}  // namespace leaf::store
