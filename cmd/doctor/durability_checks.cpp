#include "doctor/durability_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "doctor/sql_identifier.hpp"
#include "text/hint.hpp"

namespace leafctl {

using leaf::StoreHealth;
using leaf::StoreMedium;
using leaf::StoreSetting;

std::string reset(const StoreSetting& setting, const StoreHealth& health, std::string_view value) {
  const std::string role = "ROLE " + sql_identifier(health.role);
  const std::string database = "DATABASE " + sql_identifier(health.database_name);
  const auto alter = [&](const std::string& what) {
    // The session that runs it may have the setting, too.
    if (setting.name == read_only_setting)
      return fmt::format("run 'BEGIN READ WRITE; ALTER {} RESET {}; COMMIT'"_hint, what, setting.name);
    return fmt::format("run 'ALTER {} RESET {}'"_hint, what, setting.name);
  };
  if (setting.source == "user") return alter(role);
  if (setting.source == "database") return alter(database);
  if (setting.source == "database user") return alter(role + " IN " + database);
  if (setting.source == "global") return alter("ROLE ALL");
  if (setting.source == "client")
    return fmt::format("take {} out of PGOPTIONS and out of the store's options"_hint, setting.name);
  if (setting.source == "command line")
    return fmt::format("take {} out of the command line that starts the server"_hint, setting.name);
  return fmt::format("run 'ALTER SYSTEM SET {} = {}', then 'SELECT pg_reload_conf()'"_hint, setting.name,
                     value);
}

namespace {

bool waits_for_standby(const StoreHealth& health) {
  return std::ranges::find(health.settings, "synchronous_standby_names", &StoreSetting::name) !=
         health.settings.end();
}

/// Nothing if the setting keeps what was committed.
std::optional<Check> check_setting(const StoreSetting& setting, const StoreHealth& health) {
  const auto found = [&](CheckState state, std::string_view danger, std::string_view value) -> Check {
    return {"durability", state, fmt::format("{} is {}: {}", setting.name, setting.value, danger),
            reset(setting, health, value)};
  };
  if (setting.name == "synchronous_commit" && setting.value == "off")
    return found(CheckState::failed, "a crash of the server loses commits, so no IDs are drawn", "on");
  if (setting.name == "synchronous_commit" && setting.value == "local" && waits_for_standby(health)) {
    return found(CheckState::failed,
                 "commits do not wait for the standby, and a failover would lose them, so no IDs are drawn",
                 "on");
  }
  if (setting.name == "synchronous_commit" && setting.value == "remote_write" && waits_for_standby(health)) {
    return found(CheckState::warning,
                 "a crash of both machines may lose commits, and IDs may repeat after a failover", "on");
  }
  if (setting.name == "client_min_messages" && setting.value == "error")
    return found(CheckState::failed, "it hides what the server warns of, so no IDs are drawn", "notice");
  if (setting.name == "session_replication_role" && setting.value == "replica") {
    return found(CheckState::failed,
                 "the triggers that keep IDs from coming again do not run, so no IDs are drawn", "origin");
  }
  if (setting.name == "fsync" && setting.value == "off")
    return found(CheckState::warning, "a crash of its machine loses commits, and IDs may repeat", "on");
  if (setting.name == "full_page_writes" && setting.value == "off")
    return found(CheckState::warning, "a crash of its machine may damage the tables", "on");
  return std::nullopt;
}

std::string shown_settings(const StoreHealth& health) {
  std::vector<std::string> shown;
  for (const StoreSetting& setting : health.settings) {
    if (setting.name != read_only_setting) shown.push_back(fmt::format("{} {}", setting.name, setting.value));
  }
  if (!health.file_system.empty()) shown.push_back("file system " + health.file_system);
  return fmt::format("{}", fmt::join(shown, ", "));
}

}  // namespace

Checks durability_checks(const StoreHealth& health) {
  Checks found;
  if (health.commits_wait) {
    const auto names = std::ranges::find(health.settings, "synchronous_standby_names", &StoreSetting::name);
    if (names != health.settings.end()) {
      found.push_back(
          {"durability", CheckState::failed,
           fmt::format("nothing is granted: commits wait for a standby named in {} ('{}'), and none confirms "
                       "them; each attempt leaves a gap",
                       names->name, names->value),
           fmt::format("start one that it names; or, if none will come back, {}"_hint,
                       reset(*names, health, "''"))});
    }
  }
  if (!health.subscriptions.empty()) {
    std::vector<std::string> statements;
    for (const std::string& name : health.subscriptions) statements.push_back("DROP SUBSCRIPTION " + name);
    found.push_back(
        {"durability", CheckState::failed,
         fmt::format("subscriptions write into the tables: {}; what they bring may set IDs back, so "
                     "nothing is granted from those tables",
                     fmt::join(health.subscriptions, ", ")),
         fmt::format("once nothing is drawn from the server that they follow, run '{}'; "
                     "leafctl-operations(7) says how to go on"_hint,
                     fmt::join(statements, "; "))});
  }
  if (!health.unlogged_tables.empty()) {
    std::vector<std::string> statements;
    for (const std::string& table : health.unlogged_tables)
      statements.push_back(fmt::format("ALTER TABLE {} SET LOGGED", table));
    found.push_back({"durability", CheckState::failed,
                     fmt::format("unlogged: {}; a crash of the server empties it, so no IDs are drawn",
                                 fmt::join(health.unlogged_tables, ", ")),
                     fmt::format("run '{}'"_hint, fmt::join(statements, "; "))});
  }
  for (const StoreSetting& setting : health.settings) {
    if (auto check = check_setting(setting, health)) found.push_back(*check);
  }
  if (health.medium == StoreMedium::memory) {
    found.push_back({"durability", CheckState::warning,
                     fmt::format("the file lies in memory ({}): it is gone after a restart of this host, and "
                                 "IDs repeat",
                                 health.file_system),
                     "while nobody uses it, move the file to a disk, and name that in --store"_hint});
  }
  if (health.medium == StoreMedium::network) {
    found.push_back({"durability", CheckState::warning,
                     fmt::format("the file may lie on another host ({}), where locks do not always hold",
                                 health.file_system),
                     "while nobody uses it, move the file to a disk of this host, or use PostgreSQL"_hint});
  }
  if (found.empty()) found.push_back({"durability", CheckState::ok, shown_settings(health)});
  return found;
}

}  // namespace leafctl
