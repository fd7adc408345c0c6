#pragma once

#include <string>
#include <string_view>

namespace leaf::store {

/// 122 random bits: no two are ever the same. Throws Error (failed) where the system has none.
std::string new_uuid();

/// Whether `text` is one as new_uuid() writes it.
bool is_uuid(std::string_view text) noexcept;

}  // namespace leaf::store
