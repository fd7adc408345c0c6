#include "store/sqlite/room.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace leaf::store::sqlite {

namespace {

constexpr unsigned journal_size = 16 << 10;  // of a grant: a header, and two pages as they were

/// Judged by statvfs(3). A journal that is there needs no new inode.
int why_no_journal_by_figures(const char* folder, bool is_there) {
  struct statvfs system {};
  if (statvfs(folder, &system) != 0) return errno;
  if ((system.f_flag & ST_RDONLY) != 0) return EROFS;
  if (!is_there && access(folder, W_OK | X_OK) != 0) return errno;
  const bool is_root = geteuid() == 0;
  const auto blocks = is_root ? system.f_bfree : system.f_bavail;
  const auto files = is_root ? system.f_ffree : system.f_favail;
  // File systems that do not count report 0.
  if (system.f_blocks != 0 && blocks * system.f_frsize < journal_size) return ENOSPC;
  return !is_there && system.f_files != 0 && files == 0 ? ENOSPC : 0;
}

}  // namespace

int why_no_journal(const std::string& path) {
  // Writing past the limit raises SIGXFSZ, which ends a program.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < journal_size) return EFBIG;
  std::error_code unknown;
  const std::filesystem::path file = std::filesystem::weakly_canonical(path, unknown);
  const std::string folder = file.parent_path();
  const bool is_there = access((file.string() + "-journal").c_str(), F_OK) == 0;
  const int made = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (made >= 0) {
    const int error = posix_fallocate(made, 0, journal_size);
    close(made);
    return error == EOPNOTSUPP ? 0 : error;
  }
  const bool is_offered = errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL;
  return is_offered && !is_there ? errno : why_no_journal_by_figures(folder.c_str(), is_there);
}

bool is_without_room(int error) {
  return error == ENOSPC || error == EDQUOT;
}

}  // namespace leaf::store::sqlite
