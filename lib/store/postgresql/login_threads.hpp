#pragma once

#include <functional>

namespace leaf::store::postgresql {

/// Runs `work`, which must not throw, in a thread that never ends, and returns at once. At its end a thread
/// gives back what OpenSSL and Kerberos keep for it, under locks that neither fork() nor exit() may come upon;
/// so it waits for the next work instead. There are as many as were ever busy at once. Throws
/// std::system_error if none can be started.
void run_in_login_thread(std::function<void()> work);

}  // namespace leaf::store::postgresql
