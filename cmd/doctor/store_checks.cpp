#include "doctor/store_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "doctor/durability_checks.hpp"
#include "doctor/lock_checks.hpp"
#include "doctor/rights_checks.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "leaf/detail/shell_word.hpp"
#include "terminal/remedy_text.hpp"
#include "text/hint.hpp"
#include "text/numbers.hpp"
#include "text/rough_duration.hpp"

namespace leafctl {

namespace {

using leaf::StoreHealth;
using leaf::StoreMedium;
using leaf::StoreSetting;
using std::chrono::milliseconds;

bool is_server(const StoreHealth& health) {
  return health.medium == StoreMedium::server;
}

Check check_server(const StoreHealth& health) {
  std::string seen = fmt::format("{} {}", health.database, health.version);
  if (!health.client.empty()) seen += ", " + health.client;
  if (health.is_supported) return {"server", CheckState::ok, seen};
  return {"server", CheckState::failed,
          fmt::format("{}: older than {} {}", seen, health.database, health.oldest_version),
          fmt::format("upgrade to {} {} or later"_hint, health.database, health.oldest_version)};
}

Check check_primary(const StoreHealth& health) {
  if (health.is_standby) {
    return {"primary", CheckState::failed, "this server is a standby and accepts no writes",
            "name the primary in --store, or all servers as host=A,B with "
            "target_session_attrs=read-write"_hint};
  }
  if (health.is_read_only) {
    const auto setting = std::ranges::find(health.settings, read_only_setting, &StoreSetting::name);
    return {"primary", CheckState::failed,
            fmt::format("the server accepts no writes from this role: {} is on", read_only_setting),
            setting == health.settings.end() ? "connect to a server that accepts writes"_hint
                                             : reset(*setting, health, "off")};
  }
  constexpr std::int64_t few = 40'000'000;  // from here on it warns, too
  if (health.transactions_left && *health.transactions_left < few) {
    const bool is_over = *health.transactions_left <= 0;
    return {"primary", is_over ? CheckState::failed : CheckState::warning,
            is_over ? fmt::format("the server accepts no writes: database '{}' must be vacuumed",
                                  health.oldest_database)
                    : fmt::format("database '{}' must be vacuumed: after {} more transactions the server "
                                  "accepts no writes",
                                  health.oldest_database, *health.transactions_left),
            "end old transactions, including prepared ones, drop unused replication slots, then run VACUUM "
            "in each database"_hint};
  }
  return {"primary", CheckState::ok, "the server accepts writes"};
}

Check check_schema(const StoreHealth& health) {
  const int version = *health.schema_version;
  if (version == 0) {
    return {"schema", CheckState::failed, "the store has no tables yet",
            "create them with 'leafctl init-db'"_hint};
  }
  const std::string seen = fmt::format("version {}, deployment {}", version, health.deployment);
  const Measures measures{{"version", std::int64_t{version}},
                          {"needed_version", std::int64_t{health.newest_schema_version}}};
  if (version == health.newest_schema_version)
    return {.name = "schema", .detail = seen, .measures = measures};
  const int known = health.newest_schema_version;
  if (version < known) {
    return {"schema",
            CheckState::failed,
            fmt::format("{}; this program needs {}", seen, known),
            "upgrade it with 'leafctl init-db'"_hint,
            {},
            measures};
  }
  const std::string release = health.minimum_release.empty()
                                  ? "a newer leafctl"
                                  : fmt::format("leafctl {} or later", health.minimum_release);
  if (health.minimum_reader > known) {
    return {"schema",
            CheckState::failed,
            fmt::format("{}; it requires programs that know {}, and this one knows {}", seen,
                        health.minimum_reader, known),
            fmt::format("use {}; leafctl-operations(7) describes the way back"_hint, release),
            {},
            measures};
  }
  return {"schema",
          CheckState::warning,
          fmt::format("{}; this program knows {}, and works with it", seen, known),
          "upgrade leafctl on this host as well"_hint,
          {},
          measures};
}

/// Nothing if there is plenty.
std::optional<Check> check_room(const StoreHealth& health) {
  constexpr const char* hint = "free some space there"_hint;
  constexpr std::uint64_t little = 1 << 20;
  if (!health.no_room.empty()) {
    return Check{"room", CheckState::failed,
                 fmt::format("a grant cannot write to the folder of the store: {}", health.no_room), hint};
  }
  if (!health.bytes_left || *health.bytes_left >= little) return std::nullopt;
  return Check{"room", CheckState::warning,
               fmt::format("the file system of the store has {} bytes left", *health.bytes_left), hint};
}

/// Drawing goes on without it.
std::optional<Check> check_events(const StoreHealth& health) {
  if (health.missing_events.empty()) return std::nullopt;
  return Check{"schema", CheckState::warning,
               fmt::format("the log of changes lacks {}: changes are refused or not noted",
                           fmt::join(health.missing_events, ", ")),
               "find out who dropped it, and recreate it with 'leafctl init-db'"_hint};
}

/// Rows that are out of reach, of this role or of others.
std::optional<Check> check_tables(const StoreHealth& health) {
  const auto& faults = health.table_faults;
  if (faults.empty()) return std::nullopt;
  std::vector<std::string_view> found;
  for (const leaf::TableFault& fault : faults) found.push_back(fault.what);
  const bool stops_grants = std::ranges::any_of(faults, &leaf::TableFault::stops_grants);
  return Check{
      "schema", stops_grants ? CheckState::failed : CheckState::warning,
      fmt::format("the tables are not as they were made: {}; {}", fmt::join(found, ", "),
                  stops_grants ? "no IDs are drawn" : "other roles may draw no IDs, or changes fail"),
      leaf::how_to_undo(faults)};
}

/// IDs are drawn, but nothing keeps a counter from going back, nor notices a failover.
std::optional<Check> check_triggers(const StoreHealth& health) {
  if (health.stopped_triggers.empty()) return std::nullopt;
  return Check{
      "schema", CheckState::failed,
      fmt::format("triggers, functions or keys that keep IDs from coming again are turned off or missing: {}",
                  fmt::join(health.stopped_triggers, ", ")),
      "find out who did that, and restore them with 'leafctl init-db'"_hint};
}

/// What they were made for is another store, or was.
Check check_functions(const leaf::StoreFunctions& functions) {
  using State = leaf::StoreFunctions::State;
  const auto found = [&]() -> std::string {
    switch (functions.state) {
      case State::other_layout:
        return fmt::format("take IDs apart in layout {}, which is not the store's", functions.layout);
      case State::other_deployment:
        return "are for another deployment: leaf_next draws no IDs";
      case State::other_schema:
        return "look for the tables in a schema where they lay before: leaf_next draws no IDs";
      case State::refused:
        return "are of an earlier release than the store asks for: leaf_next draws no IDs";
      case State::older:
      case State::current:
        break;
    }
    return "are of an earlier release";
  };
  return {"schema", CheckState::warning,
          fmt::format("the functions in schema '{}' {}", functions.schema, found()),
          fmt::format("as their owner, install them again with 'leafctl init-db --functions {}'"_hint,
                      leaf::detail::shell_word(functions.schema))};
}

Check check_clock(const StoreHealth& health, milliseconds max_skew) {
  if (!health.time) return {"clock", CheckState::ok, "the store uses this host's clock"};
  const milliseconds distance = std::chrono::abs(health.clock_offset);
  const Measures measures{{"offset_seconds", seconds_of(health.clock_offset)}};
  if (distance == milliseconds::zero())
    return {.name = "clock", .detail = "this host's clock agrees with the store's", .measures = measures};
  const std::string seen = fmt::format("this host's clock is {} {} the store's", rough_duration(distance),
                                       health.clock_offset.count() < 0 ? "behind" : "ahead of");
  if (distance > max_skew) {
    return {"clock",
            CheckState::failed,
            fmt::format("{}: more than {}, so no worker is leased", seen, format_duration(max_skew)),
            "set both clocks right, by NTP for example; --max-skew allows more"_hint,
            {},
            measures};
  }
  if (distance > max_skew / 2) {
    return {"clock",
            CheckState::warning,
            fmt::format("{}: near the {} that are allowed", seen, format_duration(max_skew)),
            "set both clocks right, by NTP for example"_hint,
            {},
            measures};
  }
  return {.name = "clock", .detail = seen, .measures = measures};
}

const char* text_of(leaf::GuardedChange change) {
  switch (change) {
    case leaf::GuardedChange::server:
      return "another server than that of the last grants";
    case leaf::GuardedChange::tables:
      return "the same server, but other tables than those of the last grants";
    case leaf::GuardedChange::noticed:
      break;
  }
  return "a failover or restore was noticed";
}

/// Only for what waits.
std::string guard_hint(const leaf::ServerGuard& guard) {
  const char* const ends_the_wait =
      "if no commit was lost and no backup restored, 'leafctl failover settle --no-commits-lost' ends the "
      "wait; add '--every-server' if the server has changed more than once"_hint;
  if (guard.tags_ahead > 0) {
    std::string hint;
    if (guard.tags_without_room > 0)
      hint =
          "raise the limit of each tag without room with 'leafctl tags update TAG --limit ID', or remove "
          "those that have no limit; "_hint;
    return hint +
           "'leafctl failover settle' has tags leave out the guard now, and "
           "begins the wait for workers; "_hint +
           ends_the_wait +
           "; if it lost more grants than the guard leaves out, raise tags with 'leafctl tags update TAG "
           "--raise-to ID'"_hint;
  }
  if (!guard.leases_from)
    return "begin the wait with 'leafctl failover settle'; "_hint + std::string(ends_the_wait);
  return "wait until then; "_hint + std::string(ends_the_wait);
}

/// A server that took the place of another may lack its last grants.
Check check_identity(const StoreHealth& health) {
  if (!health.guard_remedy.empty()) {
    return {"identity", CheckState::failed,
            "the tables' owner may not ask which server this is, and would notice no failover: no worker is "
            "leased, and soon no ID is drawn",
            fmt::format("as a superuser, run '{}'"_hint, health.guard_remedy)};
  }
  const std::string seen =
      fmt::format("system identifier {}, timeline {}", health.system_identifier, health.timeline.value_or(0));
  if (!health.guard) return {"identity", CheckState::ok, seen};
  const leaf::ServerGuard& guard = *health.guard;
  const bool leases_wait = !guard.leases_from || (health.time && *guard.leases_from > *health.time);
  if (guard.tags_ahead == 0 && !leases_wait) {
    const char* const behind =
        guard.tags_behind > 0 ? "; 'leafctl failover show' lists the IDs that tags have left out" : "";
    return {"identity", CheckState::ok, fmt::format("{}, as at the last grants{}", seen, behind)};
  }
  std::string found = fmt::format("{}: {}", seen, text_of(guard.change));
  if (guard.tags_ahead > 0) {
    found += fmt::format("; {} {} leave out {} steps at the next grant", guard.tags_ahead,
                         guard.tags_ahead == 1 ? "tag will" : "tags will", guard.steps);
  }
  if (guard.tags_without_room > 0) {
    found += fmt::format("; {} of them {} no room for that below the limit, and draw{} no IDs",
                         guard.tags_without_room, guard.tags_without_room == 1 ? "has" : "have",
                         guard.tags_without_room == 1 ? "s" : "");
  }
  if (leases_wait) {
    found +=
        guard.leases_from
            ? fmt::format("; no worker is leased before {}", leaf::detail::format_rfc3339(*guard.leases_from))
            : "; workers are leased only after a wait, which begins when the first one is asked for";
  }
  const bool draws_none = leases_wait || guard.tags_without_room > 0;
  return {"identity", draws_none ? CheckState::failed : CheckState::warning,
          found,      guard_hint(guard),
          {},         {{"tags_ahead", guard.tags_ahead}}};
}

/// Of what somebody has put on the tables, and nothing else shows.
Check check_trial(const leaf::RefusedTrial& trial) {
  const std::string why = trial.error.what();
  if (trial.tag.empty())
    return {"workers", CheckState::failed, "no worker is leased: " + why, hint_text(trial.error)};
  return {"tags", CheckState::failed, fmt::format("tag '{}' draws no IDs: {}", trial.tag, why),
          hint_text(trial.error), trial.tag};
}

/// Nothing if all rows of tags are there.
std::optional<Check> check_rows(const StoreHealth& health) {
  if (health.tags_lost == 0) return std::nullopt;
  return Check{
      "tags",
      CheckState::failed,
      fmt::format(
          "{} of {} tags are gone from the table: they draw no IDs, and none is added without a start",
          health.tags_lost, health.tags_known),
      "add each one with 'leafctl add-tag TAG --start ID' and an ID above all that are in use anywhere"_hint,
      {},
      {{"tags_lost", health.tags_lost}}};
}

}  // namespace

Checks store_checks(const StoreHealth& health, milliseconds max_skew) {
  Checks checks{check_server(health)};
  if (is_server(health)) checks.push_back(check_primary(health));
  if (health.schema_version) checks.push_back(check_schema(health));
  if (auto check = check_tables(health)) checks.push_back(std::move(*check));
  if (auto check = check_triggers(health)) checks.push_back(std::move(*check));
  if (auto check = check_events(health)) checks.push_back(std::move(*check));
  for (const leaf::StoreFunctions& functions : health.functions) {
    if (functions.state != leaf::StoreFunctions::State::current) checks.push_back(check_functions(functions));
  }
  std::ranges::move(rights_checks(health), std::back_inserter(checks));
  std::ranges::move(lock_checks(health), std::back_inserter(checks));
  if (auto check = check_room(health)) checks.push_back(std::move(*check));
  std::ranges::move(durability_checks(health), std::back_inserter(checks));
  checks.push_back(check_clock(health, max_skew));
  if (!health.system_identifier.empty() || !health.guard_remedy.empty())
    checks.push_back(check_identity(health));
  if (auto check = check_rows(health)) checks.push_back(std::move(*check));
  for (const auto& trial : {health.refused_grant, health.refused_lease}) {
    if (trial) checks.push_back(check_trial(*trial));
  }
  return checks;
}

}  // namespace leafctl
