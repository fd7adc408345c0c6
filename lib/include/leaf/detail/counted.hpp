#pragma once

#include <cstdint>
#include <string>

namespace leaf::detail {

/// Not a part of the interface: shared by the library and its command-line program.
/// So many of what `one` names: "1 ID", "2 IDs".
inline std::string counted(std::int64_t count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace leaf::detail
