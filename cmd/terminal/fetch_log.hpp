#pragma once

#include "leaf/host.hpp"

namespace leafctl {

/// Tells the system's log that a buffer's fetches begin to fail, or succeed again: who fetches in the
/// background has nobody else to tell.
void log_fetch_change(const leaf::FetchChange& change);

}  // namespace leafctl
