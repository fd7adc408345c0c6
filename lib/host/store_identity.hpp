#pragma once

#include <cstdint>
#include <string>

namespace leaf::host {

/// What tells the stores of a host apart before one is connected to.
struct StoreIdentity {
  std::string shown;        ///< the URL without a password
  std::uint64_t key = 0;    ///< of the URL and whatever else leads to the store
  std::uint64_t stamp = 0;  ///< of the file behind it, another one when it was replaced; 0 for a server
};

/// Throws Error (usage) if `url` is none.
StoreIdentity identify_store(const std::string& url, const std::string& store_key);

}  // namespace leaf::host
