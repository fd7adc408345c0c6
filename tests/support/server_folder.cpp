#include "support/server_folder.hpp"

#include <pwd.h>
#include <unistd.h>

namespace leaf::test {

ServerFolder::ServerFolder(const std::filesystem::path& parent) : TemporaryFolder(parent) {
  if (geteuid() != 0) return;
  const passwd* user = getpwnam("postgres");
  if (user == nullptr || chown(path().c_str(), user->pw_uid, user->pw_gid) != 0) {
    throw std::runtime_error("cannot give " + path().string() + " to the user 'postgres'");
  }
}

}  // namespace leaf::test
