#pragma once

#include <chrono>
#include <string>

namespace leaf {

/// As a person would write it: "5s", "1500ms".
inline std::string text_of(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + "s" : std::to_string(count) + "ms";
}

}  // namespace leaf
