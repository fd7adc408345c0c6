#pragma once

#include <cstdint>
#include <string>

namespace leafctl {

/// The number with commas between thousands.
std::string grouped(std::uint64_t number);
std::string grouped(std::int64_t number);

/// A pace or another amount that is not counted: whole from 100 on, else in three digits.
std::string rough_number(double number);

}  // namespace leafctl
