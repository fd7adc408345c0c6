// A SQLite file in whose tables anybody has put anything, or whose bytes are damaged: each call works or is
// refused, and a host gets no ID of a deployment twice.
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/store_user.hpp"
#include "support/sqlite_store.hpp"

namespace fs = std::filesystem;

namespace {

using leaf::fuzz::Choices;
using leaf::fuzz::require;

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A store as the library makes it, but for what keeps its tables right.
std::string defenceless_store() {
  const leaf::test::SqliteStore made("/dev/shm");
  {
    leaf::Store store = made.open();
    leaf::test::add_tag(store, "order", 10);
    store.add_tag({.name = leaf::TagName("short"), .limit = 1'000});
    store.grant(leaf::TagName("order"), 5);
    store.acquire_worker({.owner = "fuzzer"});
  }
  sqlite3* db = nullptr;
  require(sqlite3_open(made.path().c_str(), &db) == SQLITE_OK, "a store is opened");
  const auto run = [&](const char* sql) {
    return sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  require(run("PRAGMA writable_schema = ON") && run("DELETE FROM sqlite_schema WHERE type = 'trigger'") &&
              run("UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ' STRICT', ''), '), WITHOUT', "
                  "') WITHOUT'),"
                  " 'NOT NULL', '') WHERE type = 'table'"),
          "the schema is weakened");
  sqlite3_close(db);
  return content_of(made.path());
}

/// Where all stores of this program lie, one after the other.
struct World {
  std::string image = defenceless_store();
  leaf::test::TemporaryFolder folder{"/dev/shm"};
  fs::path path = folder.path() / "leaf.db";
  leaf::fuzz::StoreUser user;

  /// Never freed: no destructor is to run after those of the library.
  static World& the() {
    static World* const world = [] {
      std::atexit([] {
        std::error_code ignored;
        fs::remove_all(the().folder.path(), ignored);
        the().user.leave();
      });
      return new World;
    }();
    return *world;
  }
};

class Database {
 public:
  explicit Database(const fs::path& path) {
    require(sqlite3_open(path.c_str(), &db_) == SQLITE_OK, "a store is opened");
    sqlite3_exec(db_, "PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = ON", nullptr, nullptr,
                 nullptr);
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Puts a value of any type where the fuzzer says. Some are refused.
  void change(Choices& choices) {
    static constexpr const char* places[] = {
        "leaf_alloc SET biz_tag",       "leaf_alloc SET max_id",      "leaf_alloc SET step",
        "leaf_alloc SET description",   "leaf_alloc SET update_time", "leaf_alloc SET start_id",
        "leaf_alloc SET id_limit",      "leaf_alloc SET last_grant",  "leaf_alloc SET incarnation",
        "leaf_alloc SET removed_at",    "leaf_alloc SET changed_at",  "leaf_worker SET worker_id",
        "leaf_worker SET owner",        "leaf_worker SET token",      "leaf_worker SET window_end",
        "leaf_worker SET renewed_at",   "leaf_worker SET held_after", "leaf_worker SET clock_offset",
        "leaf_meta SET schema_version", "leaf_meta SET deployment",   "leaf_meta SET layout",
        "leaf_meta SET min_reader",     "leaf_meta SET min_release",  "leaf_meta SET first_worker",
        "leaf_meta SET last_worker",    "leaf_event SET happened_at", "leaf_event SET who",
        "leaf_event SET event"};
    const std::string place = places[choices.below(std::size(places))];
    const std::string table = place.substr(0, place.find(' '));
    switch (choices.below(16)) {
      case 0:
        return run("DELETE FROM " + table, choices);
      case 1:
        return run("DROP TABLE " + table, choices);
      case 2:
        return run("INSERT OR REPLACE INTO " + table + " SELECT * FROM " + table, choices);
      case 3:
        return run("UPDATE leaf_alloc SET max_id = max_id - abs($1 % 100)", choices);
      case 4:
        return run("UPDATE leaf_worker SET window_end = window_end - abs($1 % 1000000)", choices);
      case 5:
        return run("DELETE FROM leaf_worker WHERE $1 IS NOT NULL", choices);
      default:
        return run("UPDATE " + place + " = $1 WHERE $2 = 0 OR rowid % 2 = $2 % 2", choices);
    }
  }

 private:
  void run(std::string sql, Choices& choices) {
    // A table without rowids has none to be chosen by.
    if (sql.find("UPDATE leaf_alloc SET") == 0 && sql.find("rowid") != std::string::npos)
      sql.replace(sql.find("rowid % 2"), 9, "length(biz_tag) % 2");
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return;
    bind(statement, choices);
    sqlite3_bind_int64(statement, 2, static_cast<std::int64_t>(choices.below(3)));
    while (sqlite3_step(statement) == SQLITE_ROW) {
    }
    sqlite3_finalize(statement);
  }

  static void bind(sqlite3_stmt* statement, Choices& choices) {
    const std::size_t type = choices.below(6);
    if (type == 0) return;  // NULL
    if (type <= 2) {
      sqlite3_bind_int64(statement, 1, choices.number());
    } else if (type == 3) {
      double number = 0;
      const std::int64_t bits = choices.number();
      std::memcpy(&number, &bits, sizeof number);
      sqlite3_bind_double(statement, 1, number);
    } else {
      const std::string text = choices.text();
      const auto size = static_cast<int>(text.size());
      if (type == 4) {
        sqlite3_bind_text(statement, 1, text.data(), size, SQLITE_TRANSIENT);
      } else {
        sqlite3_bind_blob(statement, 1, text.data(), size, SQLITE_TRANSIENT);
      }
    }
  }

  sqlite3* db_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  World& world = World::the();
  for (const char* const end : {"", "-journal", "-wal", "-shm"}) {
    std::error_code ignored;
    fs::remove(world.path.string() + end, ignored);
  }
  std::string image = world.image;
  const bool is_damaged = choices.below(8) == 1;
  for (std::size_t i = is_damaged ? 1 + choices.below(8) : 0; i > 0; --i) {
    const std::size_t place = (choices.below(256) * 256 + choices.below(256)) % image.size();
    image[place] = static_cast<char>(choices.byte());
  }
  std::ofstream(world.path, std::ios::binary) << image;
  for (int round = 0; round < 3 && choices.are_left(); ++round) {
    if (!is_damaged) {
      Database database(world.path);
      for (std::size_t i = choices.below(4); i > 0; --i) database.change(choices);
    }
    world.user.use(choices, "sqlite:" + world.path.string());
  }
  return 0;
}
