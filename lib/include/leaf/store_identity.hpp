#pragma once

#include <string>

namespace leaf {

/// Which store a name leads to: two names lead to one store if both members are equal.
struct StoreIdentity {
  std::string deployment;  ///< a UUID, made by the first Store::migrate()
  /// What tells a copy of the deployment from its original: the server, the database and its tables, or the
  /// file. Empty where the database does not tell.
  std::string copy;
  friend bool operator==(const StoreIdentity&, const StoreIdentity&) = default;
};

}  // namespace leaf
