#pragma once

#include <filesystem>

namespace leaf::test {

/// A new folder that goes with its object. If root makes it, it belongs to the user `postgres`, since
/// PostgreSQL's programs refuse to run as root.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace leaf::test
