#pragma once

#include "leaf/worker.hpp"

namespace leaf {

/// Throws Error (usage) if `request` expects another layout than `layout`, the deployment's.
void require_expected_layout(const WorkerRequest& request, const Layout& layout);

}  // namespace leaf
