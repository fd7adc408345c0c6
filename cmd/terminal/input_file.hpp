#pragma once

#include <string>

namespace leafctl {

/// A whole file, or standard input, and what errors call it.
struct InputFile {
  std::string name;
  std::string text;  ///< without a byte order mark

  /// Reads the file at `path`; standard input for "-". Throws leaf::Error: `usage` if it cannot be opened
  /// or has no end in sight, `failed` if it cannot be read.
  static InputFile read(const std::string& path);
};

}  // namespace leafctl
