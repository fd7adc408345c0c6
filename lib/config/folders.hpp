#pragma once

#include <optional>
#include <string>

#include "leaf/host_defaults.hpp"

namespace leaf::config {

/// An XDG base folder; the specification has a relative one ignored. None if there is no home.
std::optional<std::string> xdg_folder(const Environment& environment, const char* variable,
                                      const char* in_home);

/// Where host state lies if nobody says where; empty if there is no place for it.
std::string default_runtime_dir(const Environment& environment);

}  // namespace leaf::config
