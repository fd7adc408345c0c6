#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leaf/clock.hpp"
#include "simulation/log.hpp"
#include "simulation/scheduler.hpp"

namespace leaf::simulation {

struct OpenFile;

/// A file or folder in memory.
struct Inode {
  std::uint64_t number = 0;
  std::int64_t born = 0;
  bool is_folder = false;
  std::uint32_t mode = 0;
  std::uint64_t links = 1;
  std::size_t size = 0;
  std::byte* memory = nullptr;  ///< where it is mapped, by whatever process
  OpenFile* lock = nullptr;     ///< whose lock of an open file it has
  Time locked_at = 0;
  OpenFile* flock = nullptr;
  /// Of a store's name: when that was asked that was noted when the file was locked, or since.
  std::int64_t asked_when_locked_ms = 0;
  std::map<std::string, std::shared_ptr<Inode>> entries{};
};

/// What one open() made.
struct OpenFile {
  Process* process;
  std::shared_ptr<Inode> inode;  ///< null once it is closed
  bool is_own_entry = false;     ///< a folder, as its entry "."
};

/// What the systems of all hosts of a history keep; descriptors are not used again.
class Kernel {
 public:
  explicit Kernel(Log& told);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  static Kernel& the() noexcept { return *the_; }

  std::vector<std::unique_ptr<OpenFile>> open{};
  /// Memory for a file, of zeros; it is not used again in this history.
  std::byte* allot(std::size_t size);

  /// Whoever touches it from now on dies.
  void cut(std::byte* memory);

  /// A file has got its first name; may be empty.
  std::function<void(const Inode&)> on_made{};

  /// A file has been locked; may be empty.
  std::function<void(Inode&)> on_locked{};

  /// A file is about to lose its name; may be empty.
  std::function<void(const Inode&, std::string_view name)> on_removed{};

  std::uint64_t last_inode = 0;
  std::int64_t removed_files = 0;
  Log& log;

 private:
  static Kernel* the_;
  std::size_t allotted_ = 0;
  std::vector<std::byte*> cut_{};
};

/// One running system: a clock, and the file system that the runtime folder lies in.
struct Host {
  int number = 0;
  Time clock_offset = 0;    ///< its clock less true time
  Time furthest_ahead = 0;  ///< of all the offsets it had
  Time stands_at = 0;       ///< what its clock shows while it stands still
  bool has_stood_still = false;
  std::int64_t clock_sets = 0;
  Time clock_set_at = 0;        ///< the last time
  Time tick = 4 * millisecond;  ///< how coarse its quick clock is
  int releases = 0;             ///< of its workers, under way: what lies ahead of its clock goes
  std::map<std::string, std::shared_ptr<Inode>> folders{};
  /// Where it has noted that the store's name leads, and when that was asked, by its clock.
  std::string believes_in{};
  Time believes_since = 0;
  std::int64_t asked_at_ms = 0;
  /// Who takes the place of what was noted, until it has noted its own, and when that was asked.
  const Fiber* replaces_answer = nullptr;
  std::int64_t replaced_asked_at_ms = 0;
  std::vector<Process*> processes{};
  Time folders_removed_at = 0;  ///< the last time
  Time no_threads_until = 0;    ///< none is started, as by 'ulimit -u'

  Time clock() const { return stands_at != 0 ? stands_at : Scheduler::the().now() + clock_offset; }
};

/// Whether the process maps the file that lies there.
bool is_mapped(const Process& process, const std::byte* memory);

/// Of the host that the calling thread is on.
class HostClock final : public Clock {
 public:
  std::chrono::system_clock::time_point now() override;
  std::chrono::steady_clock::time_point steady_now() override;
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  std::chrono::steady_clock::time_point deadline) override;
  void sleep_for(std::chrono::nanoseconds duration) override;
  std::int64_t tick() override;
};

/// Nothing of the process runs on; the kernel frees what it held.
void kill(Process& process);
/// `rm -r` of all runtime folders.
void remove_folders(Host& host);
/// A crash of the host: every process dies, and what lay in memory is gone.
void reboot(Host& host);

/// `truncate -s 0`: whoever looks at it where it is mapped dies of SIGBUS.
void cut(Inode& file);

/// A file as it was at one moment.
struct KeptFile {
  std::string folder;
  std::string name;
  std::uint64_t inode;
  std::int64_t born;
  std::uint32_t folder_mode;
  std::uint32_t mode;
  std::vector<std::byte> content;
};
/// All files in the runtime folders of a host.
std::vector<KeptFile> keep_files(const Host& host);
enum class KeptAs : std::uint8_t {
  itself,
  copy,  ///< perhaps with its number, if nobody has it open, or with its time of birth, but not with both
};
/// Puts it in the place of the file that has its name now, if there is one.
void put_back(Host& host, const KeptFile& kept, KeptAs as);

}  // namespace leaf::simulation
