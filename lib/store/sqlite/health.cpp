#include "store/sqlite/health.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "store/sqlite/file.hpp"
#include "store/sqlite/lock_holders.hpp"
#include "store/sqlite/room.hpp"
#include "store/table_faults.hpp"

namespace leaf::store::sqlite {

namespace {

using std::chrono::milliseconds;

struct KnownFileSystem {
  unsigned long magic;
  const char* name;
  StoreMedium medium;
};

/// <linux/magic.h> lacks some; their numbers are in statfs(2).
constexpr KnownFileSystem known_file_systems[] = {
    {EXT4_SUPER_MAGIC, "ext4", StoreMedium::disk},
    {XFS_SUPER_MAGIC, "xfs", StoreMedium::disk},
    {BTRFS_SUPER_MAGIC, "btrfs", StoreMedium::disk},
    {F2FS_SUPER_MAGIC, "f2fs", StoreMedium::disk},
    {OVERLAYFS_SUPER_MAGIC, "overlay", StoreMedium::disk},
    {0x2FC12FC1, "zfs", StoreMedium::disk},
    {TMPFS_MAGIC, "tmpfs", StoreMedium::memory},
    {RAMFS_MAGIC, "ramfs", StoreMedium::memory},
    {NFS_SUPER_MAGIC, "nfs", StoreMedium::network},
    {SMB_SUPER_MAGIC, "smb", StoreMedium::network},
    {CIFS_SUPER_MAGIC, "cifs", StoreMedium::network},
    {SMB2_SUPER_MAGIC, "smb2", StoreMedium::network},
    {V9FS_MAGIC, "9p", StoreMedium::network},
    {AFS_SUPER_MAGIC, "afs", StoreMedium::network},
    {CODA_SUPER_MAGIC, "coda", StoreMedium::network},
    {CEPH_SUPER_MAGIC, "ceph", StoreMedium::network},
    {OCFS2_SUPER_MAGIC, "ocfs2", StoreMedium::network},
    {FUSE_SUPER_MAGIC, "fuse", StoreMedium::network},
    {0x0BD00BD0, "lustre", StoreMedium::network},
    {0x01161970, "gfs2", StoreMedium::network},
};

/// Null if it is none of them.
const KnownFileSystem* find_known(const struct statfs& system) {
  for (const KnownFileSystem& known : known_file_systems) {
    // The field is signed, and on some machines narrower than the numbers.
    if (static_cast<std::uint32_t>(system.f_type) == static_cast<std::uint32_t>(known.magic)) return &known;
  }
  return nullptr;
}

/// What the overlay that `path` lies on writes to, where this process sees that: a container does not.
const KnownFileSystem* below_overlay(const std::string& path) {
  // Of its folder: a file may have the device that it really lies on.
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  struct stat folder {};
  if (stat(parent.empty() ? "." : parent.c_str(), &folder) != 0) return nullptr;
  std::ifstream mountinfo("/proc/self/mountinfo");
  const auto upper =
      upper_folder(mountinfo, fmt::format("{}:{}", major(folder.st_dev), minor(folder.st_dev)));
  struct statfs system {};
  return upper && statfs(upper->c_str(), &system) == 0 ? find_known(system) : nullptr;
}

void look_at_file_system(StoreHealth& health, const std::string& path) {
  health.medium = StoreMedium::disk;
  struct statfs system {};
  if (statfs(path.c_str(), &system) != 0) return;
  const auto blocks = geteuid() == 0 ? system.f_bfree : system.f_bavail;
  health.is_read_only = (static_cast<unsigned long>(system.f_flags) & ST_RDONLY) != 0;
  // A file system that does not count reports 0.
  if (system.f_blocks != 0)
    health.bytes_left = static_cast<std::uint64_t>(blocks) * static_cast<std::uint64_t>(system.f_bsize);
  const KnownFileSystem* const known = find_known(system);
  if (known == nullptr) return;
  health.file_system = known->name;
  health.medium = known->medium;
  if (known->magic != OVERLAYFS_SUPER_MAGIC) return;
  if (const KnownFileSystem* const below = below_overlay(path)) {
    health.file_system += fmt::format(" on {}", below->name);
    health.medium = below->medium;
  }
}

/// The file, its journal and, for a journal to be made, the folder.
std::vector<std::string> unwritable(const std::filesystem::path& path) {
  std::vector<std::string> result;
  const auto check = [&](const std::filesystem::path& file, const char* what) {
    if (access(file.c_str(), F_OK) == 0 && access(file.c_str(), W_OK) != 0)
      result.push_back(fmt::format("writing {} '{}'", what, file.string()));
  };
  check(path, "file");
  check(path.string() + "-journal", "file");
  check(path.has_parent_path() ? path.parent_path() : ".", "folder");
  return result;
}

/// Locks the file as a grant does, and writes nothing. Readers, too, are in the way of a commit.
std::vector<StoreLock> locks(Connection& connection, const std::string& path, milliseconds timeout) {
  constexpr milliseconds enough{1000};  // for grants that come and go
  try {
    connection.execute("BEGIN EXCLUSIVE", {}, std::min(timeout, enough));
    connection.execute("ROLLBACK", {}, timeout);
    return {};
  } catch (const Error& error) {
    if (error.sqlstate() != sqlstate::timed_out) throw;
  }
  std::vector<StoreLock> found;
  for (const LockHolder& holder : lock_holders(path))
    found.push_back({.what = {"the file"},
                     .process = holder.process,
                     .role = {},
                     .program = holder.program,
                     .since = {}});
  if (found.empty()) found.push_back({.what = {"the file"}, .role = {}, .program = {}, .since = {}});
  return found;
}

std::string pragma(Connection& connection, const char* statement, milliseconds timeout) {
  return only_row(connection.execute(statement, {}, timeout)).text(0);
}

}  // namespace

StoreHealth inspect(Connection& connection, const std::string& path, milliseconds timeout) {
  constexpr int oldest = 3'037'000;  // STRICT tables
  constexpr const char* synchronous =
      "SELECT CASE synchronous WHEN 0 THEN 'off' WHEN 1 THEN 'normal' WHEN 2 THEN 'full' ELSE 'extra' END"
      " FROM pragma_synchronous";
  StoreHealth health;
  health.database = "SQLite";
  health.version = sqlite3_libversion();
  health.oldest_version = "3.37";
  health.is_supported = sqlite3_libversion_number() >= oldest;
  health.database_name = path;
  health.settings = {{"journal_mode", pragma(connection, "PRAGMA journal_mode", timeout)},
                     {"synchronous", pragma(connection, synchronous, timeout)}};
  // Its journal lies beside the file itself, wherever a link to it lies.
  std::error_code unknown;
  const std::string file = std::filesystem::weakly_canonical(path, unknown);
  health.missing_rights = unwritable(file);
  health.table_faults = find_table_faults(connection, timeout);
  look_at_file_system(health, file);
  if (const int cause = why_no_journal(file); is_without_room(cause)) health.no_room = std::strerror(cause);
  if (health.missing_rights.empty()) health.locks = locks(connection, file, timeout);
  return health;
}

}  // namespace leaf::store::sqlite
