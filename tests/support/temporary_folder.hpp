#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace leaf::test {

/// A folder in memory: state of a host lies nowhere else.
inline const std::filesystem::path in_memory = "/dev/shm";

/// A new folder that goes with its object.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& parent = in_memory) {
    std::string pattern = (parent / "leaf-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error("cannot make a folder in " + parent.string());
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace leaf::test
