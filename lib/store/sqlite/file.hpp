#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace leaf::store::sqlite {

/// What no two files have in common: the number of an inode may come back, but at another time.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t birth_ns = 0;  ///< 0 where the file system does not tell

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// What a path leads to at this moment.
struct FileLook {
  FileIdentity identity;
  bool has_other_names = false;   ///< hard links
  bool is_mounted_alone = false;  ///< the path is where this file, and not its folder, is mounted
};

/// Follows symbolic links. Nothing, and `errno`, if there is no such file or it cannot be looked at.
std::optional<FileLook> look_at(const std::string& path);

/// Whether `mountinfo`, as in proc(5), names `path` as a mount point.
bool is_mount_point(std::istream& mountinfo, std::string_view path);

}  // namespace leaf::store::sqlite
