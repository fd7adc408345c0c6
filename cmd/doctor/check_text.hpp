#pragma once

#include <string>

#include "doctor/check.hpp"
#include "terminal/output.hpp"

namespace leafctl {

std::string_view name_of(CheckState state);

/// How checks are printed for a program.
inline constexpr Column<Check> check_columns[] = {
    {"check", [](const Check& check) -> Cell { return check.name; }},
    {"state", [](const Check& check) -> Cell { return std::string(name_of(check.state)); }},
    {"detail", [](const Check& check) -> Cell { return check.detail; }},
    {"hint", [](const Check& check) -> Cell { return check.hint.empty() ? Cell() : check.hint; }},
    {"subject", [](const Check& check) -> Cell { return check.subject.empty() ? Cell() : check.subject; }},
    {"measures", [](const Check& check) -> Cell { return check.measures; }},
};

/// For a terminal of 80 columns: each check below a header, its hint on lines of its own. `color` paints
/// header and states.
std::string check_table(const Checks& checks, bool color, std::size_t line_width = 80);

}  // namespace leafctl
