#pragma once

#include "settings.hpp"

namespace leafctl {

/// Creates the folder of the default store, and those above it, for the user alone. Does nothing if a store
/// was configured: that one's folder is its owner's business. Throws leaf::Error (failed).
void create_default_store_folder(const Configuration& configuration);

}  // namespace leafctl
