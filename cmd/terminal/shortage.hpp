#pragma once

#include <exception>
#include <optional>

#include "leaf/error.hpp"

namespace leafctl {

/// `error` as a shortage of memory, threads or open files, with what helps; none if it is anything else.
std::optional<leaf::Error> shortage_of(const std::exception& error);

/// From now on the program ends with the same message and status where nothing catches std::bad_alloc, as in
/// the initializers of a module, or where there is no memory left for the exception.
void survive_lack_of_memory();

}  // namespace leafctl
