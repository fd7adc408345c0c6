#pragma once

#include <string>

#include "leaf/detail/counted.hpp"
#include "leaf/tag.hpp"

namespace leaf::detail {

/// Not a part of the interface: shared by the library and its command-line program.
/// That a tag has few IDs left, or none.
inline std::string supply_text(const std::string& tag, const TagSupply& supply) {
  const std::string limit = std::to_string(supply.limit);
  if (supply.left == 0) return "tag '" + tag + "' is used up: its limit is " + limit;
  return "tag '" + tag + "' has only " + counted(supply.left, "ID") + " left (limit " + limit + ")";
}

}  // namespace leaf::detail
