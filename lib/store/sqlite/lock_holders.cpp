#include "store/sqlite/lock_holders.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace leaf::store::sqlite {

namespace {

// Bytes of the file that are locked rather than written:
// https://www.sqlite.org/fileformat2.html#the_lock_byte_page
constexpr std::int64_t first_lock_byte = 0x40000000;
constexpr std::int64_t last_lock_byte = first_lock_byte + 511;

std::string program_of(std::int64_t process) {
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

std::vector<std::int64_t> processes_that_lock(std::istream& locks, std::uint32_t major, std::uint32_t minor,
                                              std::uint64_t inode) {
  const std::string file = fmt::format("{:02x}:{:02x}:{}", major, minor, inode);
  std::vector<std::int64_t> writers;
  std::vector<std::int64_t> readers;
  for (std::string line; std::getline(locks, line);) {
    // Who waits for a lock has "->" behind the number: proc_locks(5).
    std::istringstream fields(line);
    std::string number, kind, mode, access, of, end;
    std::int64_t process = 0;
    std::int64_t begin = 0;
    if (!(fields >> number >> kind >> mode >> access >> process >> of >> begin >> end)) continue;
    const bool reaches = end == "EOF" || std::strtoll(end.c_str(), nullptr, 10) >= first_lock_byte;
    if (kind != "POSIX" || of != file || process <= 0 || begin > last_lock_byte || !reaches) continue;
    auto& those = access == "WRITE" ? writers : readers;
    if (std::ranges::find(those, process) == those.end()) those.push_back(process);
  }
  std::ranges::copy_if(readers, std::back_inserter(writers), [&, written = writers](std::int64_t process) {
    return std::ranges::find(written, process) == written.end();
  });
  return writers;
}

std::vector<LockHolder> lock_holders(const std::string& path) {
  struct statx file {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_INO, &file) != 0) return {};
  std::ifstream locks("/proc/locks");
  std::vector<LockHolder> holders;
  for (const std::int64_t process :
       processes_that_lock(locks, file.stx_dev_major, file.stx_dev_minor, file.stx_ino)) {
    if (process != getpid()) holders.push_back({process, program_of(process)});
  }
  return holders;
}

std::string text_of(const std::vector<LockHolder>& holders) {
  if (holders.empty()) return "another process";
  constexpr std::size_t most = 3;
  std::string text = holders.size() == 1 ? "process " : "processes ";
  for (std::size_t i = 0; i < std::min(holders.size(), most); ++i)
    text += fmt::format("{}{} ('{}')", i == 0 ? "" : ", ", holders[i].process, holders[i].program);
  if (holders.size() > most) text += fmt::format(" and {} more", holders.size() - most);
  return text;
}

}  // namespace leaf::store::sqlite
