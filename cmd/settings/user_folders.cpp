#include "settings/user_folders.hpp"

#include <pwd.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

namespace leafctl {

namespace {

namespace fs = std::filesystem;

std::string name_of_user(uid_t user) {
  const passwd* const entry = getpwuid(user);
  return entry == nullptr ? std::to_string(user) : entry->pw_name;
}

}  // namespace

std::vector<UserFolder> user_folders(const std::string& own) {
  std::set<std::string> paths{"/run/leafctl"};
  if (!own.empty()) paths.insert(own);
  std::error_code ignored;
  for (const char* const place : {"/run", "/dev/shm"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(place, ignored)) {
      if (entry.path().filename().string().starts_with("leafctl-")) paths.insert(entry.path().string());
    }
  }
  std::vector<UserFolder> folders;
  for (const std::string& path : paths) {
    struct stat status {};
    if (lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
      folders.push_back({path, name_of_user(status.st_uid)});
  }
  return folders;
}

}  // namespace leafctl
