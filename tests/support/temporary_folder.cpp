#include "support/temporary_folder.hpp"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace leaf::test {

TemporaryFolder::TemporaryFolder() {
  // Short, since the path of a Unix socket in it may have 107 characters at most.
  std::string pattern = "/tmp/leaf-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a folder in /tmp");
  path_ = pattern;
  if (geteuid() != 0) return;
  const passwd* user = getpwnam("postgres");
  if (user == nullptr || chown(path_.c_str(), user->pw_uid, user->pw_gid) != 0) {
    throw std::runtime_error("cannot give " + pattern + " to the user 'postgres'");
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace leaf::test
