#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "store/file_identity.hpp"

namespace leaf::store::sqlite {

/// What a path leads to at this moment.
struct FileLook {
  FileIdentity identity;
  bool has_other_names = false;   ///< hard links
  bool is_mounted_alone = false;  ///< the path is where this file, and not its folder, is mounted
};

/// Follows symbolic links. Nothing, and `errno`, if there is no such file or it cannot be looked at.
std::optional<FileLook> look_at(const std::string& path);

/// Whether there is something at `path` that is not a regular file, such as a pipe, a folder or a link.
bool is_no_file(const std::string& path);

/// Whether `mountinfo`, as in proc(5), names `path` as a mount point.
bool is_mount_point(std::istream& mountinfo, std::string_view path);

/// The folder that the overlay of number `device`, such as 0:41, writes to; nothing if `mountinfo` names
/// none.
std::optional<std::string> upper_folder(std::istream& mountinfo, std::string_view device);

}  // namespace leaf::store::sqlite
