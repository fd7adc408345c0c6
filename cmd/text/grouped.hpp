#pragma once

#include <cstdint>
#include <string>

namespace leafctl {

/// The number with commas between thousands.
std::string grouped(std::uint64_t number);
std::string grouped(std::int64_t number);

}  // namespace leafctl
