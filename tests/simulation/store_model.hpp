#pragma once

/// A store as the library sees it: what the statements and triggers of PostgreSQL or SQLite (migrations/) do
/// to the rows, and what they return. Simulated histories run on the model, since each of them may take no
/// longer than a real server takes for one grant. store_model_test compares it with both real databases,
/// statement by statement. Not in it: rights, events, imports, and that rows which another transaction has
/// locked are skipped.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulation/random.hpp"
#include "store/connection.hpp"

namespace leaf::simulation {

struct Uuid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  static Uuid parse(const std::string& text);
  static Uuid random(Random& random) { return {random.next(), random.next()}; }
  std::string text() const;
  friend bool operator==(const Uuid&, const Uuid&) = default;
};

/// What leaf_server() names: a cluster, its timeline, and the tables as they are.
struct ServerName {
  std::int64_t system = 1;
  std::int64_t timeline = 1;
  std::int64_t tables = 1;

  std::string text() const;
  /// How many servers, this one included, may have left out their guard since `before` did.
  std::int64_t servers_since(const std::optional<ServerName>& before) const;
  friend bool operator==(const ServerName&, const ServerName&) = default;
};

struct TagRow {
  std::string name;
  std::int64_t max_id = 1;
  std::int64_t step = 1000;
  std::optional<std::int64_t> start{};
  std::optional<std::int64_t> limit{};
  std::int64_t last_grant = 0;
  Uuid incarnation{};
  bool is_removed = false;
  std::optional<ServerName> granted_by{};
  std::optional<std::int64_t> left_out_from{};
  std::optional<std::int64_t> left_out_to{};
};

struct WorkerRow {
  std::int64_t id = 0;
  std::optional<std::string> owner{};
  std::optional<Uuid> token{};
  std::int64_t window_end = 0;
  std::int64_t held_after = 0;
  std::int64_t renewed_at = 0;
  std::int64_t clock_offset = 0;
};

struct MetaRow {
  Uuid deployment{};
  std::int64_t guard_steps = 100;
  std::optional<ServerName> granted_by{};
  std::optional<ServerName> granted_before{};
  std::optional<std::int64_t> worker_table{};
  std::int64_t leases_from = 0;
  std::int64_t leases_before = 0;
  std::string layout = "time:41,worker:10,sequence:12/1ms@1288834974657";
  bool is_layout_fixed = false;
  std::int64_t next_worker = 0;
  std::int64_t first_worker = 0;
  std::optional<std::int64_t> last_worker{};
  std::int64_t tags = 0;
};

/// All that a commit may change.
struct Tables {
  MetaRow meta{};
  std::vector<TagRow> tags{};
  std::vector<WorkerRow> workers{};
};

/// A file has no server that could be another one, and one clock: its host's, which is the caller's.
enum class Database { postgresql, sqlite };

class StoreModel {
 public:
  using Rows = std::vector<store::Row>;
  using Parameters = std::span<const store::Value>;

  static constexpr int schema_version = 12;

  /// The statements that it knows, by the text of their names.
  static const store::Sql& sql() noexcept;
  static bool changes_rows(const char* statement) noexcept;

  explicit StoreModel(Database which = Database::postgresql) : database(which) {}

  Database database;
  Tables tables{};
  ServerName here{};
  /// What is to be said of commits: 1 where a crash keeps them, else why it would not (DURABILITY of
  /// postgresql/sql.cpp).
  std::int64_t durability = 1;
  bool asks_for_later_release = false;
  std::int64_t set_back_by = 0;  ///< how far the clock has gone back since each transaction began
  /// How many IDs a tag leaves out, from `least` to `most`, where that is not to be left to chance.
  std::function<std::int64_t(const TagRow&, std::int64_t least, std::int64_t most)> left_out{};

  /// Runs one of sql() as a transaction of its own at that time of the store's clock. Throws Error as the
  /// driver does, and changes nothing then.
  Rows run(const char* statement, Parameters parameters, std::int64_t clock_ms, Random& random);
  /// As a backup does, which knows the row of then.
  void put_back(const WorkerRow& row, std::int64_t clock_ms);
};

}  // namespace leaf::simulation
