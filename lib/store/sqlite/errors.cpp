#include "store/sqlite/errors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "store/sqlite/lock_holders.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"
#include "text/shortage.hpp"

namespace leaf::store::sqlite {

namespace {

/// Whether this process may not write all that a statement, or init-db, adds to the file.
bool is_near_size_limit(const std::string& path) {
  constexpr std::uintmax_t room = 1 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  return limit.rlim_cur < (failed ? 0 : size) + room;
}

/// The system's error behind SQLite's; 0 where there is none.
int cause_of(int result, sqlite3* db, const std::string& path) {
  const bool is_of_system = (result & 0xFF) == SQLITE_CANTOPEN || (result & 0xFF) == SQLITE_IOERR;
  const int cause = is_of_system && db != nullptr ? sqlite3_system_errno(db) : 0;
  // SQLite forgets it where it rolls back.
  return cause == 0 && (result & 0xFF) == SQLITE_IOERR && is_near_size_limit(path) ? EFBIG : cause;
}

Error unwritable(const std::string& what, const std::string& path) {
  struct statvfs system {};
  if (statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) != 0) {
    return {ErrorCode::usage, what,
            "its file system is read-only: find out why in the kernel's log, and mount it for writing"_hint};
  }
  return {ErrorCode::usage, what, "check who may write to the file, its '-journal' and its folder"_hint};
}

Error timed_out(const std::string& what) {
  return {ErrorCode::unavailable, what,
          advice("try again, or allow more time{}"_hint, Remedy{Remedy::Kind::allow_more_time}),
          sqlstate::timed_out};
}

/// Why no file can be made in that folder; 0 if one can, or if its file system does not tell.
int why_none_can_be_made(const std::filesystem::path& folder) {
  const int made = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (made < 0) return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL ? 0 : errno;
  close(made);
  return 0;
}

bool is_without_room(int cause) {
  return cause == ENOSPC || cause == EDQUOT;
}

constexpr const char* free_space = "free some space there"_hint;

/// SQLite tries to find a journal that it cannot make, and says that there is none.
Error without_journal(const ErrorSource& source, const std::filesystem::path& folder) {
  const int cause = why_none_can_be_made(folder);
  const std::string what = fmt::format("store '{}' failed: its journal cannot be made{}", source.path,
                                       cause == 0 ? "" : fmt::format(": {}", std::strerror(cause)));
  if (cause == EACCES || cause == EPERM || cause == EROFS) return unwritable(what, source.absolute_path);
  return {ErrorCode::unavailable, what, is_without_room(cause) ? free_space : "check the disk"_hint};
}

/// SQLite says ENOENT of a folder that may not be written too, or has no room.
Error missing(const ErrorSource& source) {
  constexpr std::size_t longest = 504;  // to SQLite, which adds the journal's ending
  std::error_code unknown;
  const auto path = std::filesystem::weakly_canonical(source.absolute_path, unknown);
  if (path.native().size() > longest) {
    return {ErrorCode::usage, fmt::format("the path of store '{}' is too long for SQLite", source.path),
            "name it by a path of no more than 504 bytes, without symbolic links"_hint};
  }
  if (std::filesystem::exists(source.absolute_path, unknown)) {
    if (!path.empty()) return without_journal(source, path.parent_path());
    return {ErrorCode::usage, fmt::format("store '{}' is a file that has no path here", source.path),
            "name it by a path that this process sees"_hint};
  }
  if (source.if_missing != IfMissing::create) {
    return {ErrorCode::usage, fmt::format("store '{}' does not exist", source.path),
            advice("create it{}"_hint, Remedy{Remedy::Kind::create_store})};
  }
  std::error_code ignored;
  const auto folder = std::filesystem::absolute(source.path, ignored).parent_path();
  if (std::filesystem::is_directory(folder, ignored)) {
    if (const int cause = why_none_can_be_made(folder); is_without_room(cause)) {
      return {
          ErrorCode::unavailable,
          fmt::format("store '{}' cannot be created in its folder: {}", source.path, std::strerror(cause)),
          free_space};
    }
    return {ErrorCode::usage, fmt::format("store '{}' cannot be created in its folder", source.path),
            "check who may write to that folder, or name another path"_hint};
  }
  return {ErrorCode::usage, fmt::format("the folder of store '{}' does not exist", source.path),
          "create it with mkdir, or check the path: '~' is not replaced here"_hint};
}

}  // namespace

Error error_of(int result, sqlite3* db, const ErrorSource& source) {
  const int cause = cause_of(result, db, source.absolute_path);
  std::string message = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(result);
  if (cause != 0) message += fmt::format(" ({})", std::strerror(cause));
  const auto describe = [&](const char* what) {
    return fmt::format("store '{}' {}: {}", source.path, what, message);
  };
  switch (result & 0xFF) {
    case SQLITE_CANTOPEN:
      if (is_shortage(cause))
        return {ErrorCode::unavailable, describe("cannot be opened"), shortage_hint(cause)};
      if (cause == ENOENT) return missing(source);
      return {ErrorCode::usage, describe("cannot be opened"),
              "check the path and who may write to its folder"_hint};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return unwritable(describe("cannot be written"), source.absolute_path);
    case SQLITE_NOTADB:
      return {ErrorCode::usage, fmt::format("store '{}' is not a SQLite database", source.path),
              restore_or_name_another_file()};
    case SQLITE_CORRUPT:
      return {
          ErrorCode::failed, describe("failed"),
          "restore it from a backup as leafctl-operations(7) says: raise each tag above all IDs drawn, and "
          "wait before making snowflake IDs"_hint};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return timed_out(fmt::format("store '{}' stayed locked by {}", source.path,
                                   text_of(lock_holders(source.absolute_path))));
    case SQLITE_INTERRUPT:
      return timed_out(fmt::format("store '{}' did not get done in time", source.path));
    case SQLITE_FULL:
      return {ErrorCode::unavailable, describe("failed"), free_space};
    case SQLITE_IOERR:
      // SQLite opens a journal that it may not write for reading, and writes all the same.
      if (cause == EBADF || cause == EACCES)
        return unwritable(describe("cannot be written"), source.absolute_path);
      if (cause == EFBIG) {
        return {ErrorCode::unavailable, describe("failed"),
                "allow this process larger files: 'ulimit -f unlimited'"_hint};
      }
      return {ErrorCode::unavailable, describe("failed"),
              is_without_room(cause) ? free_space : "check the disk"_hint};
    case SQLITE_NOMEM:
      return {ErrorCode::unavailable, describe("failed"), "free some memory, then try again"_hint};
    default:
      if (message == "no such table: leaf_event" || message == "no such table: main.leaf_event")
        return {ErrorCode::refused, describe("failed"), make_events_anew()};
      return {ErrorCode::failed, describe("failed")};
  }
}

Advice name_another_file() {
  return advice("name another file{}"_hint,
                Remedy{.kind = Remedy::Kind::choose_store, .name = "sqlite:PATH"});
}

Advice restore_or_name_another_file() {
  return advice(
      "if it ever was a store, restore it from a backup as leafctl-operations(7) says, raising each "
      "tag above all IDs drawn; only if it never was, name another file{}"_hint,
      Remedy{.kind = Remedy::Kind::choose_store, .name = "sqlite:PATH"});
}

}  // namespace leaf::store::sqlite
