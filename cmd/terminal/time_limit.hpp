#pragma once

#include <chrono>

namespace leafctl {

/// Ends the process after that long, at once and with status 0, wherever it is: also in a name server's or a
/// lock's wait that nothing else cuts short. What it has not written by then is lost.
void exit_quietly_after(std::chrono::milliseconds limit);

}  // namespace leafctl
