#pragma once

#include <string>
#include <vector>

namespace leafctl {

/// A folder of buffers, and who it belongs to.
struct UserFolder {
  std::string path;
  std::string user;  ///< its name, or its number where it has none
};

/// The folders of all users of this host where they are by default, and `own`, if they exist; by path.
std::vector<UserFolder> user_folders(const std::string& own);

}  // namespace leafctl
