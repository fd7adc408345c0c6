#include "audit/block_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

TemporaryFile::~TemporaryFile() {
  if (descriptor_ != -1) close(descriptor_);
}

std::uint64_t TemporaryFile::append(std::span<const std::uint8_t> bytes) {
  if (descriptor_ == -1) open();
  const std::uint64_t begin = size_;
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (count < 0) {
      if (errno == EINTR) continue;
      fail("write", errno);
    }
    size_ += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return begin;
}

void TemporaryFile::read(std::uint64_t offset, std::span<std::uint8_t> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("read", count < 0 ? errno : EIO);
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void TemporaryFile::open() {
  descriptor_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor_ != -1) return;
  // Not every file system has files without a name.
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) fail("make", errno);
  std::string path = folder_ + "/leafctl-XXXXXX";
  descriptor_ = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor_ == -1) fail("make", errno);
  unlink(path.c_str());
}

void TemporaryFile::fail(const char* what, int error) const {
  throw leaf::Error(
      leaf::ErrorCode::failed,
      fmt::format("cannot {} a temporary file in '{}': {}", what, folder_, std::strerror(error)),
      "name a folder with more room in TMPDIR, or allow more memory with '--memory'"_hint);
}

Block BlockStore::keep(std::span<const std::uint8_t> bytes) {
  if (used_ + bytes.size() <= memory_) {
    used_ += bytes.size();
    return {.in_memory = {bytes.begin(), bytes.end()}, .size = bytes.size()};
  }
  return {.in_memory = {}, .offset = file_.append(bytes), .size = bytes.size()};
}

std::span<const std::uint8_t> BlockStore::read(const Block& block, std::vector<std::uint8_t>& room) const {
  if (!block.in_memory.empty()) return block.in_memory;
  room.resize(block.size);
  file_.read(block.offset, room);
  return room;
}

void BlockStore::drop(Block& block) noexcept {
  used_ -= block.in_memory.size();
  block.in_memory = {};
}

}  // namespace leafctl
