#pragma once

#include <string>
#include <vector>

#include "leaf/error.hpp"

namespace leafctl {

/// `hint` with this program's own commands and options for the `remedies` that it proposes: "create it"
/// becomes "create it with 'leafctl add-tag order'".
std::string hint_text(const std::string& hint, const std::vector<leaf::Remedy>& remedies);

/// What the reader can do about `error`, likewise.
std::string hint_text(const leaf::Error& error);

}  // namespace leafctl
