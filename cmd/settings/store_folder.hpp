#pragma once

#include "settings/settings.hpp"

namespace leafctl {

/// Creates the folder of the default store, and those above it, for the user alone, or with the setting
/// `group` for the group too. Does nothing if a store was configured: that one's folder is its owner's
/// business. Throws leaf::Error (failed).
void create_default_store_folder(const Configuration& configuration);

/// With the setting `group`: lets the group of its folder use a SQLite store, which may not exist yet. Throws
/// leaf::Error: `usage` if the folder does not let it, and nothing is changed then; `failed`.
void share_store_file(const Settings& settings);

}  // namespace leafctl
