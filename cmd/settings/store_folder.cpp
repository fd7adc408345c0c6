#include "settings/store_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "leaf/detail/shell_word.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

constexpr std::string_view sqlite = "sqlite:";

leaf::Error failure(const char* what, const std::string& path, const char* hint = "") {
  return {leaf::ErrorCode::failed, fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)), hint};
}

/// A journal is made by whoever writes first, and the next one has to write it too: the folder's group must
/// be that of all that is made in it.
void require_shared_folder(const std::string& folder, const struct stat& status) {
  constexpr mode_t needed = S_ISGID | S_IRWXG;
  if ((status.st_mode & needed) == needed) return;
  throw leaf::Error(leaf::ErrorCode::usage,
                    fmt::format("the group of folder '{}' cannot use a store in it", folder),
                    fmt::format("'chmod g+rwxs {}' lets it; whoever is in the group is trusted"_hint,
                                leaf::detail::shell_word(folder)));
}

/// Gives an open file to the group. Who may not change it need not where it is as it should be.
bool give(int descriptor, const struct stat& status, gid_t group) {
  constexpr mode_t wanted = 0660;
  return (status.st_gid == group || fchown(descriptor, static_cast<uid_t>(-1), group) == 0) &&
         ((status.st_mode & 07777) == wanted || fchmod(descriptor, wanted) == 0);
}

/// Gives to the group what lies under `path`, if anything does. Links are left alone: others may have put
/// them there, to files that are not theirs.
void share(const std::string& path, gid_t group) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return;
  struct stat status {};
  const bool is_known = descriptor >= 0 && fstat(descriptor, &status) == 0;
  const bool is_link = is_known ? !S_ISREG(status.st_mode) || status.st_nlink > 1 : errno == ELOOP;
  const bool is_shared = is_known && !is_link && give(descriptor, status, group);
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (is_link) {
    throw leaf::Error(leaf::ErrorCode::refused, fmt::format("'{}' is a link, or not a file", path),
                      "remove it if somebody else has put it there"_hint);
  }
  errno = error;
  if (!is_shared) throw failure("share with the group of its folder", path);
}

}  // namespace

void create_default_store_folder(const Configuration& configuration) {
  for (const SettingOrigin& setting : configuration.origins) {
    if (std::string_view(setting.setting->key) == "store" && setting.origin != "default") return;
  }
  const bool group = configuration.settings.group;
  const std::string path = configuration.settings.store.substr(sqlite.size());
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), 0700) == 0) {
      const bool is_last = path.find('/', slash + 1) == std::string::npos;
      if (group && chmod(folder.c_str(), is_last ? 02770 : 0710) != 0) throw failure("share folder", folder);
    } else if (errno != EEXIST) {
      throw failure("create folder", folder, "name another store with --store"_hint);
    }
  }
}

void share_store_file(const Settings& settings) {
  if (!settings.group || !settings.store.starts_with(sqlite)) return;
  std::error_code unknown;
  const auto path = std::filesystem::absolute(settings.store.substr(sqlite.size()));
  auto file = std::filesystem::canonical(path, unknown);
  // It is to be made. '..' after a link that leads nowhere is not taken off as text.
  if (unknown) file = std::filesystem::canonical(path.parent_path(), unknown) / path.filename();
  if (unknown) return;  // the store says why
  const std::string folder = file.parent_path().string();
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return;
  require_shared_folder(folder, status);
  // Made before SQLite does: the mode of the file is that of its journals.
  const int made = open(file.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) close(made);
  share(file.string(), status.st_gid);
  share(file.string() + "-journal", status.st_gid);
}

}  // namespace leafctl
