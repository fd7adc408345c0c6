#pragma once

#include <cstdint>
#include <string>

#include "leaf/store_identity.hpp"

namespace leafctl {

/// Keeps an output that comes in pieces to the IDs of one deployment: those of two may be equal.
class OneStore {
 public:
  /// The next piece, of `count` IDs, comes from `store`. Throws leaf::Error (refused) if that is another
  /// deployment than before.
  void require(const leaf::StoreIdentity& store, std::int64_t count);

 private:
  std::string deployment_{};
  std::int64_t printed_ = 0;
};

}  // namespace leafctl
