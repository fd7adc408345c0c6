#pragma once

#include "cli/command.hpp"

namespace leafctl {

/// For a call that is going to ask the store although this host's folder is not to be trusted: says that
/// nothing would tell of a store that was put back.
void warn_of_missing_marks(Session& session);

}  // namespace leafctl
