#include "store/sqlite/errors.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "store/sqlite/lock_holders.hpp"
#include "store/sqlite/room.hpp"
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

/// The system's error behind SQLite's; 0 where there is none, or none is known.
int cause_of(int result, sqlite3* db, const std::string& path) {
  const bool is_io = (result & 0xFF) == SQLITE_IOERR;
  if (db == nullptr || (!is_io && (result & 0xFF) != SQLITE_CANTOPEN)) return 0;
  const int cause = sqlite3_system_errno(db);
  if (cause != 0 || !is_io) return cause;
  // SQLite forgets it where it rolls back.
  if (is_near_size_limit(path)) return EFBIG;
  const int now = why_no_journal(path);
  return is_without_room(now) ? now : 0;
}

/// The kernel does that, too, after a failure of the disk.
Error read_only(const std::string& what) {
  return {ErrorCode::unavailable, what,
          "its file system is read-only: find out why in the kernel's log, and mount it for writing"_hint};
}

Error unwritable(const std::string& what, const std::string& path) {
  struct statvfs system {};
  if (statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) != 0) return read_only(what);
  return {ErrorCode::usage, what, "check who may write to the file, its '-journal' and its folder"_hint};
}

/// Whether the path, and not the disk, keeps a file from being opened.
bool is_of_path(int cause) {
  return cause == 0 || cause == EACCES || cause == EPERM || cause == ENOTDIR || cause == ELOOP ||
         cause == ENAMETOOLONG;
}

/// `what`, with the status and hint for `cause`, an error of the system; 0 if it is unknown.
Error of_system(int cause, const std::string& what, const std::string& path) {
  if (is_shortage(cause)) return {ErrorCode::unavailable, what, shortage_hint(cause)};
  if (is_without_room(cause)) return {ErrorCode::unavailable, what, "free some space there"_hint};
  if (cause == EFBIG) {
    return {ErrorCode::unavailable, what, "allow this process larger files: 'ulimit -f unlimited'"_hint};
  }
  if (cause == EROFS) return read_only(what);
  // SQLite opens a journal that it may not write for reading, and writes all the same: EBADF.
  if (cause == EBADF || cause == EACCES || cause == EPERM) return unwritable(what, path);
  return {ErrorCode::unavailable, what, "check the disk"_hint};
}

Error timed_out(const std::string& what) {
  return {ErrorCode::unavailable, what,
          advice("try again, or allow more time{}"_hint, Remedy{Remedy::Kind::allow_more_time}),
          sqlstate::timed_out};
}

Error locked(const ErrorSource& source) {
  const std::vector<LockHolder> holders = lock_holders(source.absolute_path);
  const std::int64_t in_the_way = holders.empty() ? 0 : holders.front().process;
  return {ErrorCode::unavailable,
          fmt::format("store '{}' stayed locked by {}", source.path, text_of(holders)),
          advice("try again, or allow more time{}; see who holds a lock{}"_hint,
                 Remedy{Remedy::Kind::allow_more_time},
                 Remedy{.kind = Remedy::Kind::check_store, .number = in_the_way}),
          sqlstate::timed_out};
}

/// SQLite tries to find a journal that it cannot make, and says that there is none.
Error without_journal(const ErrorSource& source) {
  const int cause = why_no_journal(source.absolute_path);
  return of_system(cause,
                   fmt::format("store '{}' failed: its journal cannot be made{}", source.path,
                               cause == 0 ? "" : fmt::format(": {}", std::strerror(cause))),
                   source.absolute_path);
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
  if (std::filesystem::exists(source.absolute_path, unknown)) return without_journal(source);
  if (source.if_missing != IfMissing::create) {
    return {ErrorCode::usage, fmt::format("store '{}' does not exist", source.path),
            advice("create it{}"_hint, Remedy{Remedy::Kind::create_store})};
  }
  if (std::filesystem::is_directory(path.parent_path(), unknown)) {
    const int cause = why_no_journal(source.absolute_path);
    const std::string what = fmt::format("store '{}' cannot be created in its folder{}", source.path,
                                         cause == 0 ? "" : fmt::format(": {}", std::strerror(cause)));
    if (is_without_room(cause) || is_shortage(cause)) return of_system(cause, what, source.absolute_path);
    return {ErrorCode::usage, what, "check who may write to that folder, or name another path"_hint};
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
      if (cause == ENOENT) return missing(source);
      if (!is_of_path(cause)) return of_system(cause, describe("cannot be opened"), source.absolute_path);
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
    case SQLITE_PROTOCOL:
      return locked(source);
    case SQLITE_INTERRUPT:
      return timed_out(fmt::format("store '{}' did not get done in time", source.path));
    case SQLITE_FULL:
      return of_system(ENOSPC, describe("failed"), source.absolute_path);
    case SQLITE_IOERR:
      return of_system(cause, describe("failed"), source.absolute_path);
    case SQLITE_NOMEM:
      return {ErrorCode::unavailable, describe("failed"), shortage_hint(ENOMEM)};
    case SQLITE_CONSTRAINT:
      if (result == SQLITE_CONSTRAINT_TRIGGER) {
        return {ErrorCode::refused, fmt::format("the store refused: {}", message),
                "a trigger of its tables says so: drop it if it is none of the store's"_hint};
      }
      return {ErrorCode::failed, describe("failed")};
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
