#pragma once

#include <functional>

namespace leafctl {

/// Runs `work` in a process of its own that nobody waits for and that holds none of this one's files: neither
/// the terminal, nor the pipe of `$(leafctl next)`, nor a shell's lock. What `work` throws is lost. Where no
/// process can be started nothing happens. For a process that ends soon and has but this thread.
void run_in_detached_process(const std::function<void()>& work);

}  // namespace leafctl
