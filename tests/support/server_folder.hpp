#pragma once

#include "support/temporary_folder.hpp"

namespace leaf::test {

/// A folder for a server's files. If root makes it, it belongs to the user `postgres`, since PostgreSQL's
/// programs refuse to run as root.
class ServerFolder : public TemporaryFolder {
 public:
  /// Short, since the path of a Unix socket in it may have 107 characters at most.
  explicit ServerFolder(const std::filesystem::path& parent = "/tmp");
};

}  // namespace leaf::test
