#include "settings/store_folder.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "leaf/error.hpp"
#include "support/temporary_folder.hpp"

using leafctl::Settings;

namespace {

/// A folder of a group, and a file beside it that is not for the group.
struct Shared {
  Shared() {
    std::filesystem::create_directory(store.parent_path());
    chmod(store.parent_path().c_str(), 02770);
    write(key,
          "secret, and longer than the head of a database, in which SQLite keeps a number of the "
          "program whose database it is");
    settings.group = true;
    settings.store = "sqlite:" + store.string();
  }

  /// A file as init-db leaves it, as far as its head tells.
  static void write_store(const std::filesystem::path& path) {
    std::string head = std::string("SQLite format 3") + std::string(85, '\0');
    write(path, head.replace(68, 4, "LEAF"));
  }

  static void write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
  }

  static mode_t mode(const std::filesystem::path& path) {
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777;
  }

  void refuses() const { CHECK_THROWS_AS(leafctl::share_store(settings), leaf::Error); }

  leaf::test::TemporaryFolder folder;
  const std::filesystem::path store = folder.path() / "ids" / "leaf.db";
  const std::filesystem::path journal = folder.path() / "ids" / "leaf.db-journal";
  const std::filesystem::path key = folder.path() / "key";
  Settings settings;
};

}  // namespace

TEST_CASE("store folder: the group gets the store and its journal") {
  Shared shared;
  Shared::write_store(shared.store);
  Shared::write(shared.journal, "");
  leafctl::share_store(shared.settings);
  CHECK(Shared::mode(shared.store) == 0660);
  CHECK(Shared::mode(shared.journal) == 0660);
  Shared::write(shared.journal, "\xD9\xD5\x05\xF9\x20\xA1\x63\xD7 and pages");
  leafctl::share_store(shared.settings);
  CHECK(Shared::mode(shared.journal) == 0660);
}

TEST_CASE("store folder: no rights are changed through a link that comes after the first look") {
  Shared shared;
  leafctl::prepare_shared_store(shared.settings);
  CHECK(Shared::mode(shared.store) == 0660);
  std::filesystem::remove(shared.store);
  Shared::write_store(shared.key);
  SUBCASE("symbolic") {
    std::filesystem::create_symlink(shared.key, shared.store);
  }
  SUBCASE("hard") {
    std::filesystem::create_hard_link(shared.key, shared.store);
  }
  shared.refuses();
  CHECK(Shared::mode(shared.key) == 0600);
}

TEST_CASE("store folder: what was moved into the place of the store or its journal is not given away") {
  Shared shared;
  std::filesystem::rename(shared.key, shared.store);
  shared.refuses();
  CHECK(Shared::mode(shared.store) == 0600);
  std::filesystem::rename(shared.store, shared.journal);
  Shared::write_store(shared.store);
  shared.refuses();
  CHECK(Shared::mode(shared.journal) == 0600);
}
