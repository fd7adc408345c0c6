#pragma once

#include "settings/settings.hpp"
#include "terminal/hint_text.hpp"

namespace leafctl {

/// For hints to whoever typed this command, and follows them in the same shell: what was named on the command
/// line. All else is found again where it was found now.
HintedOptions hinted_options_here(const GlobalOptions& options);

/// For hints that are read elsewhere, as on a page or in a log, by somebody with another environment and
/// another working folder.
HintedOptions hinted_options_elsewhere(const Configuration& configuration);

}  // namespace leafctl
