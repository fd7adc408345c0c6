#pragma once

#include <filesystem>
#include <string>

#include "leaf/store.hpp"
#include "support/temporary_folder.hpp"

namespace leaf::test {

/// A migrated SQLite store without tags.
class SqliteStore {
 public:
  explicit SqliteStore(const std::filesystem::path& parent = in_memory) : folder_(parent) {
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
