#pragma once

#include <exception>
#include <optional>

#include "leaf/error.hpp"

namespace leafctl {

/// What `error` says of a lack of memory, threads or open files that no call has put in words, and what
/// helps; none if it is of anything else.
std::optional<leaf::Error> shortage_of(const std::exception& error);

/// Has a lack of memory end the program with the same words and status also where nothing catches it, as
/// while a module is loaded, or where there is none for the exception either.
void survive_lack_of_memory();

}  // namespace leafctl
