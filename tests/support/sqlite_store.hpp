#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "leaf/store.hpp"

namespace leaf::test {

/// A folder that is gone with the object.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string pattern = (parent / "leaf-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A migrated SQLite store without tags.
class SqliteStore {
 public:
  explicit SqliteStore(const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : folder_(parent) {
    Store(options()).migrate();
  }

  std::string path() const { return (folder_.path() / "leaf.db").string(); }
  StoreOptions options() const {
    StoreOptions options;
    options.url = "sqlite:" + path();
    return options;
  }
  Store open() const { return Store(options()); }

 private:
  TemporaryFolder folder_;
};

/// Adds a tag of that step.
inline Tag add_tag(Store& store, const std::string& name, std::int64_t step) {
  return store.add_tag({.name = TagName(name), .step = step});
}

}  // namespace leaf::test
