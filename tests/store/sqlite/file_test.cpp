#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <latch>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"

using namespace std::chrono_literals;
using leaf::ErrorCode;
using leaf::Store;
using leaf::TagName;
using leaf::test::error_code;
using leaf::test::error_of;
using leaf::test::error_text;
using leaf::test::proposes;
using leaf::test::SqliteSession;
using leaf::test::SqliteStore;
using leaf::test::TemporaryFolder;

namespace {

leaf::StoreOptions options_for(const std::filesystem::path& path) {
  leaf::StoreOptions options;
  options.url = "sqlite:" + path.string();
  return options;
}

}  // namespace

TEST_CASE("sqlite: migrating twice applies everything once and keeps the deployment") {
  TemporaryFolder folder;
  Store store(options_for(folder.path() / "leaf.db"));
  CHECK(proposes(error_of([&] { store.tags(); }), {.kind = leaf::Remedy::Kind::create_store}));
  CHECK(store.pending_migrations().size() >= 1);
  CHECK(Store(options_for(folder.path() / "leaf.db")).migration_script().find("CREATE TABLE") !=
        std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "leaf.db"));  // looking does not create
  store = Store(options_for(folder.path() / "leaf.db"));
  CHECK(store.migrate().size() >= 1);
  const std::string deployment = store.identity().deployment;
  CHECK(deployment.size() == 36);
  CHECK(store.migrate().empty());
  CHECK(store.pending_migrations().empty());
  CHECK(store.migration_script().empty());
  CHECK(store.identity().deployment == deployment);
}

TEST_CASE("sqlite: no store is made with a guard of failovers, which a file has none of") {
  TemporaryFolder folder;
  Store store(options_for(folder.path() / "leaf.db"));
  const leaf::Error error = error_of([&] { store.migrate({}, {.guard_steps = 5}); });
  CHECK(error.code() == ErrorCode::usage);
  CHECK(std::string(error.what()).find("cannot fail over") != std::string::npos);
  CHECK(store.pending_migrations().size() >= 1);
}

TEST_CASE("sqlite: the script that is printed does what migrating does") {
  TemporaryFolder folder;
  const auto path = folder.path() / "leaf.db";
  SqliteSession by_hand(path.string());
  REQUIRE(by_hand.run("VACUUM"));  // an empty database
  Store store(options_for(path));
  CHECK(proposes(error_of([&] { store.tags(); }), {.kind = leaf::Remedy::Kind::create_store}));
  REQUIRE(by_hand.run(store.migration_script()));
  CHECK(Store(options_for(path)).pending_migrations().empty());
  Store migrated(options_for(path));
  migrated.add_tag({.name = TagName("order")});
  CHECK(migrated.grant(TagName("order"), 1).range.lo == 1);
}

TEST_CASE("sqlite: a connection that was opened before grants nothing once a later release is asked for") {
  SqliteStore store;
  Store opened = store.open();
  opened.add_tag({.name = TagName("order")});
  CHECK(opened.grant(TagName("order"), 1).range.lo == 1);
  SqliteSession other(store.path());
  REQUIRE(other.run("UPDATE leaf_meta SET schema_version = 999, min_reader = 999, min_release = '9.1.0'"));
  CHECK(error_text([&] { opened.grant(TagName("order"), 1); }).find("release 9.1.0 or later") !=
        std::string::npos);
}

TEST_CASE("sqlite: a schema of another version is refused, and says which program is needed") {
  SqliteStore store;
  SqliteSession other(store.path());
  REQUIRE(other.run("UPDATE leaf_meta SET schema_version = 0"));
  CHECK(proposes(error_of([&] { store.open().tags(); }), {.kind = leaf::Remedy::Kind::create_store}));
  REQUIRE(other.run("UPDATE leaf_meta SET schema_version = 1"));
  CHECK(proposes(error_of([&] { store.open().tags(); }), {.kind = leaf::Remedy::Kind::upgrade_store}));
  REQUIRE(other.run("UPDATE leaf_meta SET schema_version = 999"));
  CHECK(store.open().tags().empty());
  CHECK(store.open().migrate().empty());
  // It may have other triggers: nobody misses those of this one.
  REQUIRE(other.run("DROP TRIGGER leaf_alloc_never_back; DROP TRIGGER leaf_alloc_added"));
  CHECK(store.open().health().stopped_triggers.empty());
  CHECK(store.open().health().missing_events.empty());
  REQUIRE(other.run("UPDATE leaf_meta SET min_reader = 999, min_release = '9.1.0'"));
  CHECK(error_text([&] { store.open().tags(); }).find("release 9.1.0 or later") != std::string::npos);
  CHECK(error_code([&] { store.open().tags(); }) == ErrorCode::usage);
  CHECK(error_code([&] { store.open().migrate(); }) == ErrorCode::usage);
}

TEST_CASE("sqlite: a file that is no database, another program's or a folder is refused and left as it was") {
  TemporaryFolder folder;
  const auto text = folder.path() / "text";
  std::ofstream(text) << std::string(5000, 'x');
  CHECK(error_code([&] { Store(options_for(text)).migrate(); }) == ErrorCode::usage);
  CHECK(std::filesystem::file_size(text) == 5000);

  const auto foreign = folder.path() / "foreign.db";
  SqliteSession other(foreign.string());
  REQUIRE(other.run("CREATE TABLE theirs (x)"));
  CHECK(error_text([&] { Store(options_for(foreign)).migrate(); }).find("another program") !=
        std::string::npos);
  REQUIRE(other.run("INSERT INTO theirs VALUES (1)"));

  CHECK(error_code([&] { Store(options_for(folder.path())).migrate(); }) == ErrorCode::usage);
  CHECK(error_text([&] {
          Store(options_for(folder.path() / "no" / "such" / "leaf.db")).migrate();
        }).starts_with("the folder of store"));
  CHECK(error_code([] { Store(leaf::StoreOptions{.url = "sqlite:"}); }) == ErrorCode::usage);
  CHECK(error_code([] { Store(leaf::StoreOptions{.url = "sqlite::memory:"}); }) == ErrorCode::usage);
}

TEST_CASE("sqlite: a path that leads to no place for a file is a mistake, and not an outage") {
  TemporaryFolder folder;
  const auto text = folder.path() / "text", loop = folder.path() / "loop", closed = folder.path() / "closed";
  std::ofstream(text) << "no folder";
  std::filesystem::create_symlink("loop", loop);
  std::filesystem::create_directory(closed);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  // Root may look into each folder.
  const uid_t user = geteuid();
  if (user == 0) REQUIRE(seteuid(65501) == 0);
  for (const auto& path : {text / "leaf.db", loop, loop / "leaf.db", closed / "leaf.db",
                           folder.path() / std::string(300, 'a')}) {
    CAPTURE(path);
    CHECK(error_code([&] { Store(options_for(path)).migrate(); }) == ErrorCode::usage);
    CHECK(error_code([&] { Store(options_for(path)).tags(); }) == ErrorCode::usage);
  }
  REQUIRE(seteuid(user) == 0);
}

TEST_CASE("sqlite: a store that was restored from text, which has no number of the application, is a store") {
  SqliteStore store;
  Store admin = store.open();
  leaf::test::add_tag(admin, "order", 1);
  SqliteSession other(store.path());
  REQUIRE(other.run("PRAGMA application_id = 0"));
  CHECK(store.open().grant(TagName("order"), 1).range.lo == 1);
  REQUIRE(other.run("PRAGMA application_id = 42"));
  CHECK(error_text([&] { store.open().tags(); }).find("another program") != std::string::npos);
  REQUIRE(other.run("PRAGMA application_id = 0; DROP TABLE leaf_alloc"));
  CHECK(error_text([&] { store.open().tags(); }).find("another program") != std::string::npos);
}

TEST_CASE("sqlite: a database that another process has locked is unavailable after the timeout") {
  SqliteStore store;
  Store admin = store.open();
  leaf::test::add_tag(admin, "order", 1);
  SqliteSession other(store.path());
  REQUIRE(other.run("BEGIN EXCLUSIVE"));
  auto options = store.options();
  options.timeout = 50ms;
  CHECK(error_code([&] { Store(options).grant(TagName("order"), 1); }) == ErrorCode::unavailable);
  REQUIRE(other.run("COMMIT"));
  CHECK(Store(options).grant(TagName("order"), 1).range.lo == 1);
}

TEST_CASE("sqlite: a store that is held open in WAL mode says so, and works once that is closed") {
  SqliteStore store;
  {
    Store admin = store.open();
    leaf::test::add_tag(admin, "order", 1);
  }
  {
    SqliteSession other(store.path());
    CHECK(other.value("PRAGMA journal_mode = WAL") == "wal");
    CHECK(other.value("SELECT max_id FROM leaf_alloc") == "1");
    auto options = store.options();
    options.timeout = 50ms;
    const auto error = error_of([&] { Store(options).grant(TagName("order"), 1); });
    CHECK(error.code() == ErrorCode::unavailable);
    CHECK(std::string(error.what()).ends_with("' is in WAL mode, held open by another program"));
    CHECK(error.hint() == "close it in that program, then try again");
  }
  CHECK(store.open().grant(TagName("order"), 1).range.lo == 1);
  SqliteSession other(store.path());
  CHECK(other.value("PRAGMA journal_mode") == "delete");  // of a connection of its own
}

TEST_CASE("sqlite: a store that is switched to WAL mode meanwhile gives nothing out that its file lacks") {
  SqliteStore store;
  auto options = store.options();
  options.timeout = 60s;
  Store one(options), other(options);
  leaf::test::add_tag(one, "order", 1);
  const TagName order("order");
  CHECK(other.grant(order, 1).range.lo == 1);
  REQUIRE(SqliteSession(store.path()).value("PRAGMA journal_mode = WAL") == "wal");
  CHECK(other.tag(order).next_id == 2);  // it has the WAL open now, which keeps the mode
  one.set_timeout(0ms);
  CHECK(error_code([&] { one.grant(order, 5); }) == ErrorCode::unavailable);
  one.set_timeout(60s);
  for (int time = 0; time < 3; ++time) {
    const leaf::Range range = (time == 1 ? one : other).grant(order, 5).range;
    const std::string copy = store.path() + ".copy";
    std::filesystem::copy_file(store.path(), copy, std::filesystem::copy_options::overwrite_existing);
    CHECK(SqliteSession(copy).value("SELECT max_id FROM leaf_alloc") == std::to_string(range.hi));
  }
  CHECK_FALSE(std::filesystem::exists(store.path() + "-wal"));
}

TEST_CASE("sqlite: each trigger that somebody drops is named, and is there again after the next migration") {
  SqliteStore store;
  Store admin = store.open();
  SqliteSession sql(store.path());
  const auto trigger = [&](int number) {
    return sql.value("SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name LIMIT 1 OFFSET " +
                     std::to_string(number));
  };
  const auto text_of = [&](const std::string& name) {
    return sql.value("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = '" + name + "'");
  };
  int counters = 0, number = 0;
  for (std::string name = trigger(0); !name.empty(); name = trigger(++number)) {
    CAPTURE(name);
    const std::string text = text_of(name);
    REQUIRE(sql.run("DROP TRIGGER " + name));
    const leaf::StoreHealth health = admin.health();
    const bool is_of_log = health.stopped_triggers.empty();
    const std::string found = is_of_log ? health.missing_events.at(0) : health.stopped_triggers.at(0);
    CHECK(found == (is_of_log ? "trigger " : "") + name);
    CHECK(health.missing_events.size() + health.stopped_triggers.size() == 1);
    CHECK(admin.migrate().size() == 1);
    CHECK_FALSE(text_of(name).empty());
    if (is_of_log) continue;
    CHECK(text_of(name) == text);
    ++counters;
  }
  CHECK(counters == 6);
  CHECK(number == 11);
}

TEST_CASE("sqlite: a store that was opened without the right to write goes on once there is that right") {
  SqliteStore store;
  Store admin = store.open();
  leaf::test::add_tag(admin, "order", 1);
  const std::filesystem::path path = store.path();
  std::filesystem::remove(path.string() + "-journal");
  std::filesystem::permissions(path.parent_path(), std::filesystem::perms::all);
  std::filesystem::permissions(path, std::filesystem::perms(0444));
  // Root may write whatever the mode.
  const uid_t user = geteuid();
  if (user == 0) REQUIRE(seteuid(65501) == 0);
  Store reader = store.open();
  CHECK(reader.tag(TagName("order")).next_id == 1);
  const auto code = error_code([&] { reader.grant(TagName("order"), 1); });
  REQUIRE(seteuid(user) == 0);
  std::filesystem::permissions(path, std::filesystem::perms(0666));
  if (user == 0) REQUIRE(seteuid(65501) == 0);
  const auto code_afterwards = error_code([&] { reader.grant(TagName("order"), 1); });
  REQUIRE(seteuid(user) == 0);
  CHECK(code == ErrorCode::usage);
  CHECK_FALSE(code_afterwards);
}

TEST_CASE("sqlite: of four who migrate at once one does the work, and all succeed") {
  constexpr int rounds = 10, migrators = 4;
  for (int round = 0; round < rounds; ++round) {
    TemporaryFolder folder;
    const auto options = options_for(folder.path() / "leaf.db");
    std::atomic<int> working{0}, failed{0};
    {
      std::latch ready(migrators);
      std::vector<std::jthread> threads;
      for (int i = 0; i < migrators; ++i) {
        threads.emplace_back([&] {
          Store store(options);
          ready.arrive_and_wait();
          if (error_code([&] { working += store.migrate().empty() ? 0 : 1; })) ++failed;
        });
      }
    }
    CHECK(failed == 0);
    CHECK(working == 1);
    CHECK(Store(options).tags().empty());
  }
}

TEST_CASE("sqlite: a program that has turned off SQLite's mutexes is refused") {
  const SqliteStore store;
  sqlite3_shutdown();
  REQUIRE(sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK);
  CHECK(error_code([&] { store.open().tags(); }) == ErrorCode::refused);
  sqlite3_shutdown();
  REQUIRE(sqlite3_config(SQLITE_CONFIG_SERIALIZED) == SQLITE_OK);
  CHECK(store.open().tags().empty());
}

TEST_CASE("sqlite: a file that is exchanged is followed in a program whose connections share a cache") {
  REQUIRE(sqlite3_enable_shared_cache(1) == SQLITE_OK);
  const SqliteStore store, other;
  Store own = store.open(), second = store.open();
  leaf::test::add_tag(own, "order", 10);
  CHECK(second.tags().size() == 1);
  Store put_in_place = other.open();
  CHECK(put_in_place.tags().empty());
  std::filesystem::rename(other.path(), store.path());
  CHECK(own.tags().empty());  // while the second one has the old file open
  CHECK(second.tags().empty());
  sqlite3_enable_shared_cache(0);
}

TEST_CASE("sqlite: a file is locked even if the program's default for SQLite locks nothing") {
  const SqliteStore store;
  SqliteSession other(store.path());
  sqlite3_vfs* const former = sqlite3_vfs_find(nullptr);
  REQUIRE(sqlite3_vfs_register(sqlite3_vfs_find("unix-none"), 1) == SQLITE_OK);
  Store own = store.open();
  leaf::test::add_tag(own, "order", 10);  // it is opened by this
  sqlite3_vfs_register(former, 1);
  REQUIRE(other.run("BEGIN EXCLUSIVE"));
  CHECK(error_code([&] { own.grant(TagName("order"), 1); }) == ErrorCode::unavailable);
  REQUIRE(other.run("COMMIT"));
  CHECK(own.grant(TagName("order"), 1).range.lo == 1);
}
