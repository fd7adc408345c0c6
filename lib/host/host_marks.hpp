#pragma once

#include <optional>

#include "leaf/host.hpp"
#include "leaf/store.hpp"

namespace leaf::host {

/// `store` with marks, where it has none: those of `host`, else new ones that all stores share which are made
/// from the result.
StoreOptions with_marks(StoreOptions store, const std::optional<HostOptions>& host);

}  // namespace leaf::host
