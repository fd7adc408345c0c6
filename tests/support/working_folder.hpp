#pragma once

#include <filesystem>

namespace leaf::test {

/// The working folder, until the object goes.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::filesystem::path& folder) : former_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~WorkingFolder() { std::filesystem::current_path(former_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  std::filesystem::path former_;
};

}  // namespace leaf::test
