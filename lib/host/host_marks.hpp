#pragma once

#include <optional>

#include "leaf/host.hpp"
#include "leaf/store.hpp"

namespace leaf::host {

/// `store` for those who open it later, perhaps in another working folder: its URL made absolute, and marks
/// where it has none, those of `host` or new ones that all stores share which are made from the result.
StoreOptions to_keep(StoreOptions store, const std::optional<HostOptions>& host);

}  // namespace leaf::host
