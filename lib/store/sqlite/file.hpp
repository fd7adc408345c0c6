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

/// Whether the texts of the links on `path` lead where the system follows them to, as far as there is a file
/// or folder. SQLite goes by the texts; links in /proc may lead into another root, or to what is removed.
bool is_found_by_text(const std::string& path);

/// What lies at a path where SQLite has a journal, or may make one.
enum class JournalPlace {
  usable,
  no_file,         ///< a pipe, a folder or a link
  mounted_alone,   ///< a file that is mounted there, and not with its folder
  has_other_names  ///< hard links
};
JournalPlace look_at_journal(const std::string& path);

/// Whether `mountinfo`, as in proc(5), names `path` as a mount point.
bool is_mount_point(std::istream& mountinfo, std::string_view path);

/// The folder that the overlay of number `device`, such as 0:41, writes to; nothing if `mountinfo` names
/// none.
std::optional<std::string> upper_folder(std::istream& mountinfo, std::string_view device);

}  // namespace leaf::store::sqlite
