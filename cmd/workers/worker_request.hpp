#pragma once

#include "leaf/worker.hpp"
#include "settings/settings.hpp"

namespace leafctl {

/// What a store is asked for where a worker is wanted.
leaf::WorkerRequest worker_request(const Settings& settings);

}  // namespace leafctl
