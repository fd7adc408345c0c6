#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace leaf::store::sqlite {

/// A process of this host that has locked a SQLite file.
struct LockHolder {
  std::int64_t process;
  std::string program;  ///< empty if it has ended meanwhile
};

/// Those that the kernel tells of, who may write first; none of other hosts and other PID namespaces, nor
/// this process itself. Never fails: what cannot be found out is left out.
std::vector<LockHolder> lock_holders(const std::string& path);

/// "process 12 ('sqlite3')", or of several; "another process" of none.
std::string text_of(const std::vector<LockHolder>& holders);

/// The processes in `locks`, written as /proc/locks is, that lock what SQLite does in the file `inode` of the
/// device `major`:`minor`; for tests.
std::vector<std::int64_t> processes_that_lock(std::istream& locks, std::uint32_t major, std::uint32_t minor,
                                              std::uint64_t inode);

}  // namespace leaf::store::sqlite
