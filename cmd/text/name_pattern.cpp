#include "text/name_pattern.hpp"

#include <fnmatch.h>

namespace leafctl {

bool matches(const std::optional<std::string>& pattern, const std::string& name) {
  return !pattern || fnmatch(pattern->c_str(), name.c_str(), 0) == 0;
}

}  // namespace leafctl
