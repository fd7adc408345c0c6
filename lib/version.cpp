#include "leaf/version.hpp"

namespace leaf {

const char* version() noexcept {
  return LEAF_VERSION;
}

}  // namespace leaf
