#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace leafctl {

/// A file without a name, which goes with the process whatever ends it. Made when it is first written to.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string folder) : folder_(std::move(folder)) {}
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Appends `bytes` and returns where they begin. Throws leaf::Error (failed).
  std::uint64_t append(std::span<const std::uint8_t> bytes);
  /// Fills `bytes` from `offset` on. Throws leaf::Error (failed).
  void read(std::uint64_t offset, std::span<std::uint8_t> bytes) const;
  std::uint64_t size() const noexcept { return size_; }

 private:
  void open();
  [[noreturn]] void fail(const char* what, int error) const;

  std::string folder_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Some bytes that a BlockStore keeps.
struct Block {
  std::vector<std::uint8_t> in_memory;  ///< empty: in the file
  std::uint64_t offset = 0;
  std::size_t size = 0;
};

/// Keeps blocks of bytes: in memory as far as it may, then in a temporary file.
class BlockStore {
 public:
  BlockStore(std::size_t memory, std::string folder) : memory_(memory), file_(std::move(folder)) {}

  /// Throws leaf::Error (failed).
  Block keep(std::span<const std::uint8_t> bytes);
  /// The bytes of a block, by way of `room` if they are not in memory. Valid as long as both.
  /// Throws leaf::Error (failed).
  std::span<const std::uint8_t> read(const Block& block, std::vector<std::uint8_t>& room) const;
  /// Gives up the memory of a block.
  void drop(Block& block) noexcept;

  /// From now on less memory may be used; what is there stays.
  void limit(std::size_t memory) noexcept { memory_ = memory; }
  std::uint64_t file_size() const noexcept { return file_.size(); }

 private:
  std::size_t memory_;
  std::size_t used_ = 0;
  TemporaryFile file_;
};

}  // namespace leafctl
