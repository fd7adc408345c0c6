#pragma once

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

namespace leaf::test {

/// What `find_out` says, 0 or 1, in a child that has moved to namespaces of its own, and run `surroundings`
/// there. None if that may not be done here.
inline std::optional<bool> elsewhere(int namespaces, const std::function<bool()>& surroundings,
                                     const std::function<bool()>& find_out) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const std::string same_user = std::to_string(geteuid()) + " " + std::to_string(geteuid()) + " 1";
    if (unshare(namespaces) != 0) {
      if (unshare(CLONE_NEWUSER | namespaces) != 0) _exit(2);
      std::ofstream("/proc/self/uid_map") << same_user;
    }
    if (!surroundings()) _exit(2);
    _exit(find_out() ? 1 : 0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) return std::nullopt;
  return WEXITSTATUS(status) == 1;
}

/// An empty file system in memory, in such a child: nobody else sees it.
inline bool mount_over(const std::filesystem::path& folder) {
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", folder.c_str(), "tmpfs", 0, "mode=0700") == 0;
}

/// `what`, there.
inline bool mount_over(const std::filesystem::path& place, const std::filesystem::path& what) {
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount(what.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

}  // namespace leaf::test
