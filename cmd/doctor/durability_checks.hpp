#pragma once

#include <string>
#include <string_view>

#include "doctor/check.hpp"
#include "leaf/health.hpp"

namespace leafctl {

/// Judges whether what the store commits lasts.
Checks durability_checks(const leaf::StoreHealth& health);

/// The setting by which transactions cannot write.
inline constexpr std::string_view read_only_setting = "default_transaction_read_only";

/// How a setting is brought back to its default or, where the server's files have set it, to `value`.
std::string reset(const leaf::StoreSetting& setting, const leaf::StoreHealth& health, std::string_view value);

}  // namespace leafctl
