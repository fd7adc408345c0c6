#pragma once

#include <string>

#include "store/connection.hpp"

namespace leaf::store {

/// The driver of that name ("sqlite", "postgresql"), loading its module on the first call. Thread safe; a
/// module is never unloaded. Throws Error (usage) if it is not installed or belongs to another version of
/// libleaf.
const Driver& driver(const std::string& name);

}  // namespace leaf::store
