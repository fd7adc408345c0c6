#pragma once

#include <string>

#include "terminal/messages.hpp"

namespace leafctl {

/// A file that is open for reading, or standard input, and what errors call it.
class OpenInput {
 public:
  /// Opens the file at `path`; takes standard input for "-". Throws leaf::Error: `usage` if it cannot be
  /// opened, or `failed` where descriptors or memory ran out.
  explicit OpenInput(const std::string& path);
  ~OpenInput();
  OpenInput(const OpenInput&) = delete;
  OpenInput& operator=(const OpenInput&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  const std::string& name() const noexcept { return name_; }

 private:
  int descriptor_;
  std::string name_;
};

/// Tells whoever sits at the terminal that IDs are read from there, if `descriptor` is one.
void tell_of_typed_ids(int descriptor, Messages& messages);

/// A whole file, or standard input, and what errors call it.
struct InputFile {
  std::string name;
  std::string text;  ///< without a byte order mark

  /// Reads the file at `path`; standard input for "-". Throws leaf::Error: `usage` if it cannot be opened
  /// or has no end in sight, `failed` if it cannot be read.
  static InputFile read(const std::string& path);
};

}  // namespace leafctl
