#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/export.hpp"
#include "leaf/layout.hpp"

namespace leaf {

/// A setting of a database that determines how durable its commits are.
struct StoreSetting {
  std::string name;
  std::string value;
  /// What set it, in PostgreSQL's words: "default", "configuration file", "database", "user", "client".
  std::string source{};
};

/// What a store is kept on.
enum class StoreMedium {
  server,   ///< a database server's business
  disk,     ///< a file system of this host
  memory,   ///< one that is empty after a restart of this host
  network,  ///< one of another host, whose locks and flushes may not hold
};

/// What has changed since the last grants and leases.
enum class GuardedChange {
  noticed,  ///< nothing: the guard has noticed any change
  server,   ///< the server, or its timeline
  tables,   ///< the tables alone, as after a dump was loaded
};

/// What a store leaves out because its server may lack commits of the previous one: see Store::guard_steps().
struct ServerGuard {
  std::int64_t steps = 0;              ///< that a tag leaves out
  std::int64_t tags_ahead = 0;         ///< tags that have not done so yet
  std::int64_t tags_without_room = 0;  ///< of these, whose limit is too near: they grant nothing
  std::int64_t tags_behind = 0;        ///< tags that have left out IDs
  /// No worker is leased before this; absent: the wait begins when the first is asked for.
  std::optional<UnixTime> leases_from{};
  GuardedChange change = GuardedChange::noticed;
};

/// A session of the database that holds a transaction open and so keeps others from writing, or a prepared
/// transaction, which does so without a session; for SQLite, a process of this host.
struct StoreLock {
  std::vector<std::string> what;  ///< such as "tag 'order'", "worker 3" or "table leaf_alloc"
  std::int64_t process = 0;       ///< the server's; 0: a prepared transaction, or a process of another host
  std::string role;
  std::string program;            ///< the name that it gives itself; may be empty
  std::optional<UnixTime> since;  ///< its transaction began; absent also if the present role may not know
  std::string prepared{};         ///< the name of the prepared transaction, as a literal of SQL
};

/// What an administrator of the server can do so that others can go on.
LEAF_EXPORT std::string how_to_end(const StoreLock& lock);

/// How somebody has altered a table so that its rows are hidden, or mixed with others.
struct TableFault {
  std::string what;           ///< such as "public.leaf_alloc has row-level security"
  std::string remedy;         ///< the SQL that undoes it; empty: none is known
  bool stops_grants = false;  ///< to the present role; else to others, or changes of tags
};

/// What the owner of the tables can do so that others can go on.
LEAF_EXPORT std::string how_to_undo(const std::vector<TableFault>& faults);

/// A change that was tried.
struct RefusedTrial {
  std::string tag;  ///< empty: it was of a worker
  Error error;
};

/// The functions for SQL in one schema: see Store::install_functions().
struct StoreFunctions {
  enum class State {
    current,
    older,             ///< of an earlier release; they still work
    refused,           ///< likewise, but the store now requires later ones: they draw no IDs
    other_layout,      ///< than the store's: they take its IDs apart wrongly
    other_deployment,  ///< than this one: they draw no IDs
    other_schema,      ///< than the one that has the tables now: they draw no IDs
  };

  std::string schema;
  std::string layout;  ///< its name or text: the layout by which they take IDs apart
  State state = State::current;
  bool may_be_replaced = false;  ///< by the present role
  /// Roles, and PUBLIC, that may create functions beside these, which may fit a call better; empty where the
  /// tables lie too: see StoreHealth::schema_creators.
  std::string creators{};
  std::string others{};  ///< functions with the same names, made by others
  /// A role that owns this schema, and neither these nor the tables: it may replace them; empty likewise.
  std::string schema_owner{};
  std::string owner{};
};

/// What a store is and how it is set up, as the current login sees it; nothing is judged. What a kind of
/// store does not have is empty.
struct StoreHealth {
  std::string database;        ///< "PostgreSQL" or "SQLite"
  std::string version;         ///< of the database, such as "15.14"
  std::string oldest_version;  ///< that is supported
  bool is_supported = false;
  std::string client;         ///< the database's library in this process, such as "libpq 15.14"
  std::string database_name;  ///< of the database in its server, or the file
  std::string role;           ///< the one that is logged in

  bool is_standby = false;
  bool is_read_only = false;  ///< transactions cannot write unless they ask for it, or the file system cannot
  std::string system_identifier;  ///< of the server's cluster; empty also if the role may not know
  std::optional<int> timeline;    ///< of the server's cluster
  /// What is left out if the server is not the one of the last change; absent: nothing is noticed.
  std::optional<ServerGuard> guard;
  /// What a superuser has to run so that the store may ask which server it is on, which it must know to lease
  /// workers and to notice a failover; empty: nothing.
  std::string guard_remedy;
  std::int64_t tags_known = 0;  ///< how many rows of tags there were, removed ones too
  std::int64_t tags_lost = 0;   ///< how many of them are gone

  /// 0: it has no tables; absent: the role may not look.
  std::optional<int> schema_version;
  int newest_schema_version = 0;  ///< the newest one that this library knows
  /// The oldest schema version that a program has to know; a library that knows it works with a newer schema.
  int minimum_reader = 0;
  std::string minimum_release;  ///< the release of a program that knows that version; empty: unknown
  std::string deployment;

  std::vector<StoreLock> locks;               ///< seen twice, so not by a passing grant
  std::vector<std::string> missing_events;    ///< what the log of changes lacks
  std::vector<std::string> stopped_triggers;  ///< that keep IDs from coming again, and do not run
  std::vector<TableFault> table_faults{};     ///< others than these are not looked for
  /// Why a grant of one of the tags that were granted last, or a lease, is refused. Each is tried and taken
  /// back where nothing else here tells why it would fail.
  std::optional<RefusedTrial> refused_grant{};
  std::optional<RefusedTrial> refused_lease{};
  std::vector<std::string> missing_rights;  ///< that drawing IDs and leasing workers need
  /// Roles, and PUBLIC, that may create objects beside the tables though they do not own them, and where.
  std::vector<std::string> schema_creators;
  std::string schema;
  /// Roles that own that schema, or may draw and are members of its owner, though the tables are not theirs:
  /// they may replace the store's functions and triggers.
  std::vector<std::string> schema_owners{};
  std::string table_owner{};                 ///< where there are any
  std::vector<StoreFunctions> functions;     ///< for SQL, by schema
  std::vector<std::string> unlogged_tables;  ///< which a crash of the server empties
  std::vector<std::string> subscriptions{};  ///< which write what another server has into the tables
  std::vector<StoreSetting> settings;
  /// Commits wait for a synchronous standby that is away, or have for seconds: none is acknowledged.
  bool commits_wait = false;
  StoreMedium medium = StoreMedium::server;
  std::string file_system;                    ///< its name; empty if it is none of the well-known ones
  std::optional<std::uint64_t> bytes_left{};  ///< that this user may still write to it
  std::string no_room{};  ///< why a grant cannot write there, if the disk is full or a quota used up

  /// The store's clock; absent if that is this host's.
  std::optional<UnixTime> time;
  /// This host's clock minus the store's, as far as the time that the query took does not explain it.
  std::chrono::milliseconds clock_offset{};

  /// How many more transactions PostgreSQL begins before it stops accepting writes to avoid transaction ID
  /// wraparound; vacuuming raises it. Absent: another database, or a standby.
  std::optional<std::int64_t> transactions_left{};
  std::string oldest_database{};  ///< the one to vacuum first
};

}  // namespace leaf
