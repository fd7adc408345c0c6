#pragma once

#include <string>
#include <string_view>

namespace leafctl {

/// The arguments of a command on `tag`, with `options`, for a hint: a name that begins with a dash would be
/// taken for an option.
inline std::string tag_arguments(const std::string& tag, std::string_view options) {
  return tag.starts_with('-') ? std::string(options) + " -- " + tag : tag + " " + std::string(options);
}

}  // namespace leafctl
