#pragma once

#include "leaf/layout.hpp"
#include "leaf/worker.hpp"
#include "settings.hpp"

namespace leafctl {

/// What a store is asked for where a worker is wanted.
leaf::WorkerRequest worker_request(const Settings& settings);

/// Throws leaf::Error (usage) if the settings expect another layout than `layout`, the store's.
void require_expected_layout(const Settings& settings, const leaf::Layout& layout);

}  // namespace leafctl
