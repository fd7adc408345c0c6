#pragma once

#include <string>
#include <string_view>

#include "leaf/host_defaults.hpp"

namespace leaf::config {

/// Checks what is given for a key of the library; does nothing for another one. Throws Error (usage) that
/// speaks of `name`, the key, a variable or what a choice is called.
void check_value(std::string_view key, std::string_view name, const std::string& text);

/// Whether `text` is a store's name, which no URL of a store is.
bool is_store_name(std::string_view text);

}  // namespace leaf::config
