#pragma once

#include <optional>
#include <string>
#include <utility>

#include "leaf/host.hpp"
#include "leaf/store.hpp"

namespace leaf::host {

/// `store` for those who open it later, perhaps in another working folder: its URL made absolute, and marks
/// where it has none, those of `host` or new ones that all stores share which are made from the result.
StoreOptions to_keep(StoreOptions store, const std::optional<HostOptions>& host);
/// `host` likewise: its folder made absolute. Where it does not say what leads to the store besides its URL,
/// that is what libpq's `variables` say.
HostOptions to_keep(HostOptions host, const std::string& variables);
/// The options of a generator or an allocator, for `store`, which is kept: `options.host` likewise.
template <class Options>
Options to_keep_for(const StoreOptions& store, Options options) {
  if (options.host) options.host = to_keep(*std::move(options.host), *store.variables);
  return options;
}

}  // namespace leaf::host
