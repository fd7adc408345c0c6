#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace leafctl::serve {

struct FileContent {
  std::string text;
  mode_t mode = 0;  ///< of the very file that was read
};

/// Reads a file that the server was told to use, `what` in messages. It never waits: a named pipe has no end
/// before its writer has, and its reader is an event loop. Throws leaf::Error (usage) if it is no regular
/// file, or cannot be read.
FileContent read_file(std::string_view what, const std::string& file);

}  // namespace leafctl::serve
