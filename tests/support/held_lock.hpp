#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "support/wait_for.hpp"

namespace leaf::test {

/// As of a process that has stopped while it fetches.
class HeldLock {
 public:
  explicit HeldLock(const std::filesystem::path& file) : descriptor_(open(file.c_str(), O_RDWR | O_CLOEXEC)) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    // Who has published a range may hold it a moment longer.
    REQUIRE(wait_for([&] { return fcntl(descriptor_, F_OFD_SETLK, &whole) == 0; }));
  }
  ~HeldLock() { close(descriptor_); }
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace leaf::test
