#include "store/sqlite/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <istream>
#include <memory>
#include <sstream>

namespace leaf::store::sqlite {

namespace {

/// The kernel writes a space, a tab, a newline and a backslash as \OOO.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool is_mounted_alone(const struct statx& file, const std::string& path) {
#ifdef STATX_ATTR_MOUNT_ROOT
  if ((file.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    return (file.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#endif
  // A kernel before 5.8.
  static_cast<void>(file);
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  std::ifstream mountinfo("/proc/self/mountinfo");
  return real && is_mount_point(mountinfo, real.get());
}

}  // namespace

bool is_mount_point(std::istream& mountinfo, std::string_view path) {
  mountinfo.exceptions(std::ios::badbit);  // else a lack of memory ends what it reads
  for (std::string line; std::getline(mountinfo, line);) {
    std::istringstream fields(line);
    fields.exceptions(std::ios::badbit);
    std::string id, parent, device, root, mount_point;
    if (fields >> id >> parent >> device >> root >> mount_point && unescaped(mount_point) == path)
      return true;
  }
  return false;
}

std::optional<std::string> upper_folder(std::istream& mountinfo, std::string_view device) {
  constexpr std::string_view option = ",upperdir=";
  mountinfo.exceptions(std::ios::badbit);  // else a lack of memory ends what it reads
  for (std::string line; std::getline(mountinfo, line);) {
    std::istringstream fields(line);
    fields.exceptions(std::ios::badbit);
    std::string id, parent, number;
    const std::size_t begin = line.find(option, line.find(" - overlay "));
    if (!(fields >> id >> parent >> number) || number != device || begin == std::string::npos) continue;
    const std::string_view rest = std::string_view(line).substr(begin + option.size());
    std::string folder = unescaped(rest.substr(0, rest.find(',')));
    // Whoever mounts it writes a comma with a backslash before it.
    for (std::size_t i = 0; (i = folder.find("\\,", i)) != std::string::npos; ++i) folder.erase(i, 1);
    // A relative one was meant from where the mount was made.
    return folder.starts_with('/') ? std::optional(folder) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<FileLook> look_at(const std::string& path) {
  struct statx file {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_NLINK | STATX_BTIME, &file) != 0)
    return std::nullopt;
  return FileLook{.identity = identity_of(file),
                  .has_other_names = file.stx_nlink > 1,
                  .is_mounted_alone = is_mounted_alone(file, path)};
}

bool is_found_by_text(const std::string& path) {
  std::filesystem::path there = path;
  struct stat followed {};
  while (stat(there.c_str(), &followed) != 0) {
    if (!there.has_relative_path()) return true;
    there = there.parent_path();
  }
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(there.c_str(), nullptr), &std::free);
  struct stat found {};
  return real && stat(real.get(), &found) == 0 && found.st_dev == followed.st_dev &&
         found.st_ino == followed.st_ino;
}

JournalPlace look_at_journal(const std::string& path) {
  struct statx found {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_NLINK, &found) != 0)
    return JournalPlace::usable;
  if (!S_ISREG(found.stx_mode)) return JournalPlace::no_file;
  if (found.stx_nlink > 1) return JournalPlace::has_other_names;
  return is_mounted_alone(found, path) ? JournalPlace::mounted_alone : JournalPlace::usable;
}

}  // namespace leaf::store::sqlite
