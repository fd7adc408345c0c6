#pragma once

#include "settings/settings.hpp"

namespace leafctl {

/// Creates the folder of the default store, and those above it, for the user alone, or with the setting
/// `group` for the group too. Does nothing if a store was configured: that one's folder is its owner's
/// business. Throws leaf::Error (failed).
void create_default_store_folder(const Configuration& configuration);

/// With the setting `group`, before a SQLite store is opened: makes its file for the group of its folder if
/// there is none. Throws leaf::Error: `usage` if the folder does not let the group use it; `refused` if there
/// is a link in the place of the store or its journal; `failed`. Nothing is changed then.
void prepare_shared_store(const Settings& settings);

/// With the setting `group`, once there is a store: lets the group of its folder use it. Changes the rights
/// of no file but the caller's own store and its journal. Throws leaf::Error: `refused`, `failed`.
void share_store(const Settings& settings);

}  // namespace leafctl
