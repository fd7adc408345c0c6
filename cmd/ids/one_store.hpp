#pragma once

#include <cstdint>
#include <string>

#include "leaf/store_identity.hpp"

namespace leafctl {

/// Keeps an output that comes in pieces to the IDs of one deployment: those of two may be equal.
class OneStore {
 public:
  /// Has `draw` draw the next piece, of `count` IDs, from `source`: a tag or a generator. It is called again
  /// if the name of its store came to lead to another one meanwhile. Throws leaf::Error (refused) if they are
  /// of another deployment than before.
  template <class Source, class Draw>
  void draw(const Source& source, std::int64_t count, Draw draw) {
    for (;;) {
      const std::uint64_t changes = source.store_changes();
      draw();
      const leaf::StoreIdentity store = source.store();
      if (source.store_changes() == changes) return require(store, count);
    }
  }

 private:
  void require(const leaf::StoreIdentity& store, std::int64_t count);

  std::string deployment_{};
  std::int64_t printed_ = 0;
};

}  // namespace leafctl
