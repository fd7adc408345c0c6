#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace leaf::test {

/// What this process writes into one folder, call by call, and what a power cut would leave of it: files hold
/// what was synced, and any part of what was not; names are there, or not, unless their folder was synced. It
/// stands in for the C library's open(), pwrite(), ftruncate(), fdatasync() and unlink(), so SQLite itself
/// runs as it is. One object at a time, and one thread.
class RecordedDisk {
 public:
  /// A disk that forgets more than it may; a test that does not notice tests nothing.
  enum class Fault {
    none,
    ignores_syncs,
    ignores_syncs_of_folders,
  };

  /// What is in `folder` now counts as synced.
  explicit RecordedDisk(std::filesystem::path folder, Fault fault = Fault::none);
  ~RecordedDisk();
  RecordedDisk(const RecordedDisk&) = delete;
  RecordedDisk& operator=(const RecordedDisk&) = delete;

  /// How many calls were recorded. Those to come are recorded too.
  std::size_t calls() const noexcept { return calls_.size(); }

  /// Puts into `folder`, which is empty, what is left where the power fails before call number `cut`.
  void leave(std::size_t cut, std::mt19937_64& random, const std::filesystem::path& folder) const;

  // What the calls of the C library tell.
  void opened(const std::string& path, int descriptor);
  void closed(int descriptor) { open_.erase(descriptor); }
  void written(int descriptor, std::uint64_t offset, const void* data, std::size_t size);
  void truncated(int descriptor, std::uint64_t size);
  void synced(int descriptor);
  void unlinked(const std::string& path);

 private:
  using File = std::size_t;  ///< also where its name is gone, or another file's
  static constexpr File the_folder = SIZE_MAX;

  struct Call {
    enum class Kind { write, truncate, sync, name, unname, sync_folder };
    Kind kind;
    File file = 0;
    std::uint64_t offset = 0;  ///< or the size of a truncated file
    std::string text{};        ///< what was written, or a name
  };
  struct Disk;

  bool is_inside(const std::string& path) const;

  const std::filesystem::path folder_;
  const Fault fault_;
  std::map<std::string, File> names_;   ///< as the process sees them
  std::vector<std::string> beginning_;  ///< of each file
  std::map<std::string, File> first_names_;
  std::map<int, File> open_;
  std::vector<Call> calls_;
};

}  // namespace leaf::test
