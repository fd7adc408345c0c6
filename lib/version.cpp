#include "leaf/version.hpp"

#include "leaf/leaf.h"

namespace leaf {

const char* version() noexcept {
  return LEAF_VERSION;
}

}  // namespace leaf

const char* leaf_version(void) {
  return LEAF_VERSION;
}
