#include "doctor/store_checks.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using leafctl::Check;
using leafctl::Checks;
using leafctl::CheckState;
using namespace std::chrono_literals;

namespace {

leaf::StoreHealth healthy_server() {
  leaf::StoreHealth health;
  health.database = "PostgreSQL";
  health.version = "15.4";
  health.oldest_version = "13";
  health.is_supported = true;
  health.client = "libpq 15.4";
  health.database_name = "ids";
  health.role = "shop";
  health.system_identifier = "7";
  health.timeline = 1;
  health.schema_version = 2;
  health.newest_schema_version = 2;
  health.deployment = "d";
  health.settings = {{"synchronous_commit", "on", "default"},
                     {"client_min_messages", "notice", "default"},
                     {"fsync", "on", "default"},
                     {"full_page_writes", "on", "default"}};
  health.time = leaf::UnixTime(1h);
  return health;
}

leaf::StoreHealth healthy_file() {
  leaf::StoreHealth health = healthy_server();
  health.database = "SQLite";
  health.client.clear();
  health.role.clear();
  health.system_identifier.clear();
  health.settings = {{"journal_mode", "truncate"}};
  health.medium = leaf::StoreMedium::disk;
  health.file_system = "ext4";
  health.time.reset();
  return health;
}

Checks judge(const leaf::StoreHealth& health) {
  return leafctl::store_checks(health, 5s);
}

/// The one check that is not ok, which there has to be.
Check found(const leaf::StoreHealth& health) {
  const Checks checks = judge(health);
  const auto is_found = [](const Check& check) { return check.state != CheckState::ok; };
  REQUIRE(std::ranges::count_if(checks, is_found) == 1);
  const Check check = *std::ranges::find_if(checks, is_found);
  if (check.name == "durability") CHECK(std::ranges::count(checks, check.name, &Check::name) == 1);
  CHECK_FALSE(check.hint.empty());
  return check;
}

}  // namespace

TEST_CASE("store checks: what is well is ok and needs no hint") {
  for (const leaf::StoreHealth& health : {healthy_server(), healthy_file()}) {
    for (const Check& check : judge(health)) {
      CAPTURE(check.detail);
      CHECK(check.state == CheckState::ok);
      CHECK(check.hint.empty());
      CHECK_FALSE(check.detail.empty());
    }
  }
  CHECK(judge(healthy_server()).size() == 7);
  const auto durability = [](const leaf::StoreHealth& health) {
    const Checks checks = judge(health);
    return std::ranges::find(checks, "durability", &Check::name)->detail;
  };
  leaf::StoreHealth health = healthy_server();
  health.settings.push_back({"default_transaction_read_only", "off", "default"});
  CHECK(durability(health) ==
        "synchronous_commit on, client_min_messages notice, fsync on, full_page_writes on");
  CHECK(durability(healthy_file()) == "journal_mode truncate, file system ext4");
  CHECK(judge(healthy_file()).size() == 5);
}

TEST_CASE("store checks: an old server, a standby and a schema of another version fail") {
  leaf::StoreHealth health = healthy_server();
  SUBCASE("old") {
    health.version = "12.9";
    health.is_supported = false;
    CHECK(found(health).name == "server");
    CHECK(found(health).hint == "upgrade to PostgreSQL 13 or later");
  }
  SUBCASE("standby") {
    health.is_standby = true;
    health.is_read_only = true;
    CHECK(found(health).name == "primary");
    CHECK(found(health).hint ==
          "name the primary in --store, or all servers as host=A,B with target_session_attrs=read-write");
  }
  SUBCASE("read-only") {
    health.is_read_only = true;
    health.settings.push_back({"default_transaction_read_only", "on", "database"});
    CHECK(found(health).name == "primary");
    CHECK(found(health).hint ==
          "run 'BEGIN READ WRITE; ALTER DATABASE \"ids\" RESET default_transaction_read_only; COMMIT'");
  }
  SUBCASE("old transactions") {
    health.oldest_database = "ids";
    health.transactions_left = 38'000'000;
    CHECK(found(health).name == "primary");
    CHECK(found(health).state == CheckState::warning);
    CHECK(found(health).detail ==
          "database 'ids' must be vacuumed: after 38000000 more transactions the server accepts no writes");
    health.transactions_left = -1'000'000;
    CHECK(found(health).state == CheckState::failed);
    CHECK(found(health).detail == "the server accepts no writes: database 'ids' must be vacuumed");
    CHECK(found(health).hint ==
          "end old transactions, including prepared ones, drop unused replication slots, then run VACUUM in "
          "each database");
  }
  SUBCASE("older schema") {
    health.schema_version = 1;
    CHECK(found(health).name == "schema");
    CHECK(found(health).hint == "upgrade it with 'leafctl init-db'");
  }
  SUBCASE("newer schema") {
    health.schema_version = 3;
    health.minimum_reader = 2;
    CHECK(found(health).state == CheckState::warning);
    CHECK(found(health).detail == "version 3, deployment d; this program knows 2, and works with it");
    CHECK(found(health).hint == "upgrade leafctl on this host as well");
    health.minimum_reader = 3;
    health.minimum_release = "9.1.0";
    CHECK(found(health).hint == "use leafctl 9.1.0 or later; leafctl-operations(7) describes the way back");
  }
  CHECK(found(health).state == CheckState::failed);
}

TEST_CASE("store checks: without tables nothing is said of rights, and without a look nothing of tables") {
  leaf::StoreHealth health = healthy_server();
  health.schema_version = 0;
  CHECK(found(health).name == "schema");
  CHECK(judge(health).size() == 6);
  health.schema_version.reset();
  health.missing_rights = {"SELECT on leaf_meta"};
  CHECK(found(health).detail == "role 'shop' lacks SELECT on leaf_meta");
  CHECK(found(health).hint == "as the owner of the tables, run 'leafctl init-db --runtime-role shop'");
}

TEST_CASE("store checks: functions that the store has outgrown are a warning, and say what they still do") {
  using State = leaf::StoreFunctions::State;
  leaf::StoreHealth health = healthy_server();
  health.functions = {{.schema = "app", .layout = "leaf", .state = State::current, .may_be_replaced = true}};
  for (const Check& check : judge(health)) CHECK(check.state == CheckState::ok);
  const std::pair<State, const char*> cases[] = {
      {State::older, "are of an earlier release"},
      {State::refused, "are of an earlier release than the store asks for: leaf_next draws no IDs"},
      {State::other_layout, "take IDs apart in layout leaf, which is not the store's"},
      {State::other_deployment, "are for another deployment: leaf_next draws no IDs"},
      {State::other_schema, "look for the tables in a schema where they lay before: leaf_next draws no IDs"}};
  for (const auto& [state, text] : cases) {
    health.functions[0].state = state;
    const Check check = found(health);
    CHECK(check.state == CheckState::warning);
    CHECK(check.detail == std::string("the functions in schema 'app' ") + text);
    CHECK(check.hint == "as their owner, install them again with 'leafctl init-db --functions app'");
  }
}

TEST_CASE("store checks: in the role of a replica no IDs are drawn") {
  leaf::StoreHealth health = healthy_server();
  health.settings.push_back({"session_replication_role", "replica", "user"});
  CHECK(found(health).state == CheckState::failed);
  CHECK(found(health).name == "durability");
  CHECK(found(health).hint == "run 'ALTER ROLE \"shop\" RESET session_replication_role'");
}

TEST_CASE("store checks: a setting is undone where it was made") {
  leaf::StoreHealth health = healthy_server();
  leaf::StoreSetting& setting = health.settings[0];
  setting.value = "off";
  const std::pair<const char*, const char*> hints[] = {
      {"user", "run 'ALTER ROLE \"shop\" RESET synchronous_commit'"},
      {"database", "run 'ALTER DATABASE \"ids\" RESET synchronous_commit'"},
      {"database user", "run 'ALTER ROLE \"shop\" IN DATABASE \"ids\" RESET synchronous_commit'"},
      {"global", "run 'ALTER ROLE ALL RESET synchronous_commit'"},
      {"client", "take synchronous_commit out of PGOPTIONS and out of the store's options"},
      {"command line", "take synchronous_commit out of the command line that starts the server"},
      {"configuration file",
       "run 'ALTER SYSTEM SET synchronous_commit = on', then 'SELECT pg_reload_conf()'"},
  };
  for (const auto& [source, hint] : hints) {
    setting.source = source;
    CHECK(found(health).hint == hint);
    CHECK(found(health).state == CheckState::failed);
  }
}

TEST_CASE("store checks: what is proposed can be run whatever roles and databases are called") {
  leaf::StoreHealth health = healthy_server();
  health.role = "the \"shop\"";
  health.database_name = "i\"ds";
  health.settings[0] = {"synchronous_commit", "off", "database user"};
  CHECK(found(health).hint ==
        R"(run 'ALTER ROLE "the ""shop""" IN DATABASE "i""ds" RESET synchronous_commit')");
  health.settings[0].value = "on";
  health.missing_rights = {"SELECT on leaf_meta"};
  CHECK(found(health).hint ==
        R"(as the owner of the tables, run 'leafctl init-db --runtime-role "the \"shop\""')");
}

TEST_CASE("store checks: where a standby is waited for, commits that do not wait are named") {
  leaf::StoreHealth health = healthy_server();
  for (const char* mode : {"on", "local", "remote_write", "remote_apply"}) {
    health.settings[0] = {"synchronous_commit", mode, "user"};
    for (const Check& check : judge(health)) CHECK(check.state == CheckState::ok);
  }
  health.settings.push_back({"synchronous_standby_names", "one", "configuration file"});
  for (const char* mode : {"on", "remote_apply"}) {
    health.settings[0].value = mode;
    for (const Check& check : judge(health)) CHECK(check.state == CheckState::ok);
  }
  health.settings[0].value = "local";
  CHECK(found(health).name == "durability");
  CHECK(found(health).state == CheckState::failed);
  CHECK(found(health).detail ==
        "synchronous_commit is local: commits do not wait for the standby, and a failover would lose them, "
        "so no IDs are drawn");
  CHECK(found(health).hint == "run 'ALTER ROLE \"shop\" RESET synchronous_commit'");
  health.settings[0].value = "remote_write";
  CHECK(found(health).state == CheckState::warning);
}

TEST_CASE("store checks: where commits wait for a standby that is away, nobody is blamed who waits as well") {
  leaf::StoreHealth health = healthy_server();
  health.settings.push_back({"synchronous_standby_names", "one", "configuration file"});
  health.locks.push_back(
      {.what = {"tag 'order'"}, .process = 7, .role = "shop", .program = "leafctl", .since = {}});
  CHECK(found(health).name == "locks");
  health.commits_wait = true;
  CHECK(std::ranges::none_of(judge(health), [](const Check& check) { return check.name == "locks"; }));
  CHECK(found(health).name == "durability");
  CHECK(found(health).state == CheckState::failed);
  CHECK(found(health).detail ==
        "nothing is granted: commits wait for a standby named in synchronous_standby_names ('one'), and none "
        "confirms them; each attempt leaves a gap");
  CHECK(
      found(health).hint ==
      "start one that it names; or, if none will come back, run 'ALTER SYSTEM SET synchronous_standby_names "
      "= \'\'', then 'SELECT pg_reload_conf()'");
}

TEST_CASE("store checks: what stops grants fails, what only a crash shows is a warning") {
  leaf::StoreHealth health = healthy_server();
  SUBCASE("hidden warnings") {
    health.settings[1].value = "error";
    CHECK(found(health).state == CheckState::failed);
  }
  SUBCASE("fsync") {
    health.settings[2].value = "off";
    CHECK(found(health).state == CheckState::warning);
  }
  SUBCASE("full_page_writes") {
    health.settings[3].value = "off";
    CHECK(found(health).state == CheckState::warning);
  }
  SUBCASE("subscriptions") {
    health.subscriptions = {"a", "\"B\""};
    CHECK(found(health).state == CheckState::failed);
    CHECK(found(health).detail ==
          "subscriptions write into the tables: a, \"B\"; what they bring may set IDs back, so nothing is "
          "granted from those tables");
    CHECK(found(health).hint.find("'DROP SUBSCRIPTION a; DROP SUBSCRIPTION \"B\"'") != std::string::npos);
  }
  SUBCASE("unlogged tables") {
    health.unlogged_tables = {"leaf_alloc", "leaf_meta"};
    CHECK(found(health).state == CheckState::failed);
    CHECK(found(health).hint == "run 'ALTER TABLE leaf_alloc SET LOGGED; ALTER TABLE leaf_meta SET LOGGED'");
  }
  SUBCASE("a file in memory") {
    health = healthy_file();
    health.medium = leaf::StoreMedium::memory;
    CHECK(found(health).state == CheckState::warning);
  }
  SUBCASE("a file on another host") {
    health = healthy_file();
    health.medium = leaf::StoreMedium::network;
    CHECK(found(health).state == CheckState::warning);
  }
  CHECK(found(health).name == "durability");
}

TEST_CASE("store checks: who keeps a file from being written is named, if this host knows it") {
  leaf::StoreHealth health = healthy_file();
  health.locks = {{.what = {"the file"}, .process = 12, .role = {}, .program = "sqlite3", .since = {}}};
  CHECK(found(health).name == "locks");
  CHECK(found(health).state == CheckState::failed);
  CHECK(found(health).detail == "process 12 ('sqlite3') has locked the file: nothing is granted");
  CHECK(found(health).hint == "let its transaction end, or end it with 'kill -9 12'");
  health.locks[0].process = 0;
  CHECK(found(health).detail ==
        "the file is locked by a process of another host or container: nothing is granted");
  CHECK(found(health).hint == "let its transaction end, or end the process");
}

TEST_CASE("store checks: a file system without room for a grant fails, and little room is a warning") {
  leaf::StoreHealth health = healthy_file();
  health.bytes_left = 1000;
  CHECK(found(health).name == "room");
  CHECK(found(health).state == CheckState::warning);
  CHECK(found(health).detail == "the file system of the store has 1000 bytes left");
  health.no_room = "No space left on device";
  CHECK(found(health).state == CheckState::failed);
  CHECK(found(health).detail == "a grant cannot write to the folder of the store: No space left on device");
}

TEST_CASE("store checks: a prepared transaction that locks a tag is named, and what ends it") {
  leaf::StoreHealth health = healthy_server();
  health.locks = {{.what = {"tag 'order'"},
                   .role = "shop",
                   .program = {},
                   .since = leaf::UnixTime(1h),
                   .prepared = "'it''s forgotten'"}};
  const Check check = found(health);
  CHECK(check.name == "locks");
  CHECK(check.state == CheckState::warning);
  CHECK(check.detail ==
        "the prepared transaction 'it''s forgotten', of role 'shop', prepared since 1970-01-01T01:00:00.000Z "
        "locks "
        "tag 'order': whoever needs it waits");
  CHECK(check.hint ==
        "end it with ROLLBACK PREPARED 'it''s forgotten', or with COMMIT PREPARED 'it''s forgotten' if the "
        "rest "
        "of its work is committed");
}

TEST_CASE("store checks: the clock may be off by as much as is allowed, and half of that is a warning") {
  leaf::StoreHealth health = healthy_server();
  for (const auto off : {2500ms, -2500ms, 1ms}) {
    health.clock_offset = off;
    CHECK(std::ranges::all_of(judge(health), [](const Check& one) { return one.state == CheckState::ok; }));
  }
  for (const auto off : {2501ms, -2501ms, 5000ms}) {
    health.clock_offset = off;
    CHECK(found(health).state == CheckState::warning);
  }
  health.clock_offset = 5001ms;
  CHECK(found(health).detail ==
        "this host's clock is 5s ahead of the store's: more than 5s, so no worker is leased");
  health.clock_offset = -65s;
  CHECK(found(health).detail ==
        "this host's clock is 1m 5s behind the store's: more than 5s, so no worker is leased");
  CHECK(found(health).state == CheckState::failed);
}

TEST_CASE(
    "store checks: another server than that of the last grants is named until all have left out the guard") {
  leaf::StoreHealth health = healthy_server();
  health.guard = leaf::ServerGuard{.steps = 100, .tags_ahead = 0, .leases_from = leaf::UnixTime(0h)};
  CHECK(judge(health).back().detail == "system identifier 7, timeline 1, as at the last grants");
  health.guard->tags_behind = 2;
  CHECK(judge(health).back().detail.ends_with(
      "; 'leafctl failover show' lists the IDs that tags have left out"));
  CHECK(judge(health).back().state == CheckState::ok);

  health.guard->tags_ahead = 2;
  health.guard->change = leaf::GuardedChange::server;
  CHECK(found(health).state == CheckState::warning);
  CHECK(found(health).detail ==
        "system identifier 7, timeline 1: another server than that of the last grants; 2 tags will leave out "
        "100 steps at the next grant");
  CHECK(found(health).hint.starts_with("'leafctl failover settle' has tags leave out the guard now"));
  CHECK(found(health).hint.find("--raise-to") != std::string::npos);

  health.guard->tags_without_room = 1;
  CHECK(found(health).state == CheckState::failed);
  CHECK(found(health).detail.ends_with("; 1 of them has no room for that below the limit, and draws no IDs"));
  health.guard->tags_without_room = 0;

  health.guard->tags_ahead = 0;
  health.guard->leases_from.reset();
  health.guard->change = leaf::GuardedChange::tables;
  CHECK(found(health).state == CheckState::failed);
  CHECK(found(health).detail ==
        "system identifier 7, timeline 1: the same server, but other tables than those of the last grants; "
        "workers are leased only after a wait, which begins when the first one is asked for");
  CHECK(found(health).hint.starts_with("begin the wait with 'leafctl failover settle'"));

  health.guard->leases_from = leaf::UnixTime(2h);
  health.guard->change = leaf::GuardedChange::noticed;
  CHECK(found(health).detail ==
        "system identifier 7, timeline 1: a failover or restore was noticed; no worker is leased before "
        "1970-01-01T02:00:00.000Z");
  CHECK(found(health).hint ==
        "wait until then; if no commit was lost and no backup restored, 'leafctl failover settle "
        "--no-commits-lost' ends the wait; add '--every-server' if the server has changed more than once");
  CHECK(found(health).state == CheckState::failed);
}

TEST_CASE("store checks: rows of tags that are gone are told, and what brings them back") {
  leaf::StoreHealth health = healthy_server();
  health.tags_known = 5;
  health.tags_lost = 3;
  CHECK(found(health).name == "tags");
  CHECK(found(health).state == CheckState::failed);
  CHECK(found(health).detail.starts_with("3 of 5 tags are gone from the table"));
  CHECK(found(health).hint.find("add-tag TAG --start ID") != std::string::npos);
}
