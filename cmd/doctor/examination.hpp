#pragma once

#include <functional>

#include "cli/command.hpp"
#include "doctor/check.hpp"
#include "leaf/store.hpp"

namespace leafctl {

/// Who wants to know. A server may hold a worker itself, in its own memory, if it has no host's buffer.
enum class Asker { doctor, server };

/// Checks the store, which `open` opens, its durability and clock, this user's rights and this host's
/// buffers, and forecasts when tags, workers and timestamps run out. Changes nothing.
Checks examine(const Session& session, const std::function<leaf::Store()>& open, Asker asker);

}  // namespace leafctl
