#pragma once

#include <chrono>
#include <string>

namespace leaf {

/// As a person would write it: "5s", "1500ms".
inline std::string text_of(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + "s" : std::to_string(count) + "ms";
}

/// The same for any length, which need not be exact: "400d", "59m".
inline std::string rough_text_of(std::chrono::milliseconds duration) {
  using namespace std::chrono;
  if (duration >= days(2)) return std::to_string(floor<days>(duration).count()) + "d";
  if (duration >= hours(2)) return std::to_string(floor<hours>(duration).count()) + "h";
  if (duration >= minutes(2)) return std::to_string(floor<minutes>(duration).count()) + "m";
  return text_of(duration);
}

}  // namespace leaf
