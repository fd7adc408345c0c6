#pragma once

#include <cerrno>

#include "text/hint.hpp"

namespace leaf {

/// Whether a call failed for a lack that has nothing to do with what it was given, and may pass.
inline bool is_shortage(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
}

/// What mends it.
inline const char* shortage_hint(int error) noexcept {
  if (error == EMFILE) return "allow this process more open files, see 'ulimit -n'"_hint;
  if (error == ENFILE) return "close files in other programs, or raise the sysctl 'fs.file-max'"_hint;
  return error == ENOMEM ? "allow this process more memory, see 'ulimit -v', or free some"_hint
                         : "try again"_hint;
}

}  // namespace leaf
