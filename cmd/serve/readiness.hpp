#pragma once

#include "leaf/health.hpp"

namespace leafctl::serve {

/// Throws leaf::Error if the store grants nothing, as one that can be read alone. What seems to be missing
/// may not be needed, as the right to make a journal that is there: so it counts only once a draw has failed.
void require_writable(const leaf::StoreHealth& health, bool has_failed);

}  // namespace leafctl::serve
