#pragma once

#include "leaf/worker.hpp"
#include "settings.hpp"
#include "supply_checks.hpp"

namespace leafctl {

/// What a store is asked for where a worker is wanted.
leaf::WorkerRequest worker_request(const Settings& settings);

/// What workers are judged by.
WorkerPolicy worker_policy(const Settings& settings);

}  // namespace leafctl
