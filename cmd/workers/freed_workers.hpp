#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace leafctl {

/// Says at once which workers were freed; `verb` is how. As JSON an object each on standard output,
/// `{"worker":3}`; of none `{"worker":null}`.
void report_freed(std::string_view verb, const std::vector<std::int64_t>& workers, Session& session);

}  // namespace leafctl
