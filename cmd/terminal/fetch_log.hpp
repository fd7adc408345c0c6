#pragma once

#include <string>

#include "leaf/host.hpp"
#include "terminal/hint_text.hpp"

namespace leafctl {

/// Tells the system's log that a buffer's fetches begin to fail, or succeed again: who fetches in the
/// background has nobody else to tell. The commands of its hint get `options`.
void log_fetch_change(const leaf::FetchChange& change, const HintedOptions& options);

/// What it tells.
std::string fetch_change_text(const leaf::FetchChange& change, const HintedOptions& options);

}  // namespace leafctl
