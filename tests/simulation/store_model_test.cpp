#include "simulation/store_model.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leaf/detail/module.hpp"
#include "leaf/store.hpp"
#include "store/connection.hpp"
#include "support/figure.hpp"
#include "support/sqlite_store.hpp"
#include "support/test_database.hpp"

using namespace leaf::simulation;
using leaf::store::Connection;
using leaf::store::Row;
using leaf::store::Sql;
using leaf::store::Value;

namespace {

constexpr std::chrono::milliseconds timeout{30'000};
constexpr std::int64_t second_ms = 1'000;
constexpr std::int64_t minute_ms = 60 * second_ms;
constexpr std::int64_t hour_ms = 60 * minute_ms;
constexpr std::int64_t day_ms = 24 * hour_ms;
constexpr std::int64_t begin_ms = 1'700'000'000'000;

std::unique_ptr<Connection> connect(const char* database, const std::string& url) {
  const auto* const driver = static_cast<const leaf::store::Driver*>(
      leaf::detail::module_symbol(database, "the driver", "leaf_store_driver"));
  auto connection = driver->connect(url, "test", leaf::store::IfMissing::fail, timeout);
  REQUIRE(connection->find_tables(timeout));
  return connection;
}

// Columns of the tables, as the model's tables give them too.

constexpr const char* tag_rows_of_postgresql =
    "SELECT biz_tag, max_id, step, start_id, id_limit, last_grant, (removed_at IS NOT NULL)::integer,"
    " incarnation, left_out_from, left_out_to, granted_by FROM leaf_alloc";
constexpr const char* tag_rows_of_sqlite =
    "SELECT biz_tag, max_id, step, start_id, id_limit, last_grant, removed_at IS NOT NULL, incarnation,"
    " NULL, NULL, NULL FROM leaf_alloc";
constexpr const char* left_out_rows = "SELECT biz_tag, left_out_to - left_out_from FROM leaf_alloc";
// PostgreSQL keeps the hash of a key.
constexpr const char* worker_rows_of_postgresql =
    "SELECT worker_id, owner, window_end, held_after, renewed_at, clock_offset, (token IS NOT NULL)::integer"
    " FROM leaf_worker";
constexpr const char* worker_rows_of_sqlite =
    "SELECT worker_id, owner, window_end, held_after, renewed_at, clock_offset, token FROM leaf_worker";
constexpr const char* meta_row_of_postgresql =
    "SELECT layout, layout_fixed::integer, first_worker, last_worker, next_worker, tags, guard_steps, "
    "leases_from,"
    " leases_before, (worker_table IS NULL)::integer, granted_by, granted_before FROM leaf_meta";
constexpr const char* meta_row_of_sqlite = "SELECT layout, first_worker, last_worker FROM leaf_meta";

/// A real database, each of whose functions that tell the time or the server's name say what the test has
/// them say: then what a failover, a restore and a wrong clock lead to is as certain as all else.
class PostgresqlInDisguise {
 public:
  PostgresqlInDisguise() {
    // Whatever is made from now on calls these.
    database_.sql().run(fmt::format(R"(
ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO real_clock_timestamp;
ALTER FUNCTION pg_catalog.now() RENAME TO real_now;
ALTER FUNCTION pg_catalog.pg_postmaster_start_time() RENAME TO real_postmaster_start_time;
ALTER FUNCTION pg_catalog.pg_control_system() RENAME TO real_control_system;
ALTER FUNCTION pg_catalog.pg_walfile_name(pg_lsn) RENAME TO real_walfile_name;
ALTER FUNCTION pg_catalog.pg_relation_filepath(regclass) RENAME TO real_relation_filepath;
CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
  AS 'SELECT to_timestamp(current_setting(''leaf_test.clock'')::bigint / 1000.0::double precision)';
CREATE FUNCTION pg_catalog.now() RETURNS timestamptz LANGUAGE sql STABLE
  AS 'SELECT to_timestamp(current_setting(''leaf_test.clock'')::bigint / 1000.0::double precision)';
CREATE FUNCTION pg_catalog.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql STABLE
  AS 'SELECT to_timestamp(current_setting(''leaf_test.start'')::double precision)';
CREATE FUNCTION pg_catalog.pg_control_system(OUT system_identifier bigint, OUT pg_control_version integer)
  LANGUAGE sql STABLE AS 'SELECT current_setting(''leaf_test.system'')::bigint, 1';
CREATE FUNCTION pg_catalog.pg_walfile_name(at pg_lsn) RETURNS text LANGUAGE sql STABLE
  AS 'SELECT lpad(to_hex(current_setting(''leaf_test.timeline'')::integer), 8, ''0'') || ''0000000000000001''';
CREATE FUNCTION pg_catalog.pg_relation_filepath(of regclass) RETURNS text LANGUAGE sql STABLE
  AS 'SELECT concat(''base/'', current_setting(''leaf_test.tables''), ''/'', of::oid)';
ALTER DATABASE {0} SET leaf_test.clock = '{1}';
ALTER DATABASE {0} SET leaf_test.start = '1';
ALTER DATABASE {0} SET leaf_test.system = '1';
ALTER DATABASE {0} SET leaf_test.timeline = '1';
ALTER DATABASE {0} SET leaf_test.tables = '1';)",
                                    database_.name(), begin_ms));
    leaf::Store({.url = database_.url()}).migrate();
    oids_ = database_.sql().value(
        "SELECT concat('.', 'leaf_meta'::regclass::oid, '.', 'leaf_alloc'::regclass::oid)");
    connection_ = connect("postgresql", database_.url());
  }

  Connection& connection() { return *connection_; }
  /// What leaf_server() calls what the model calls that, and the other way round. Where a range was granted a
  /// time follows.
  std::string real_name(const ServerName& name) const {
    return fmt::format("{}/{}/{}{}", name.system, name.timeline, name.tables, oids_);
  }
  std::string name_in_model(const std::string& real) const {
    const std::string name = real.substr(0, real.find('@'));
    if (!name.ends_with(oids_)) return real;
    const auto tables = name.rfind('/') + 1;
    return name.substr(0, tables) + "1." + name.substr(tables, name.size() - oids_.size() - tables) + ".1";
  }
  void set_clock(std::int64_t clock) { run(fmt::format("SET leaf_test.clock = '{}'", clock)); }
  void become(const ServerName& name, int start) {
    run(
        fmt::format("SET leaf_test.system = '{}'; SET leaf_test.timeline = '{}'; SET leaf_test.tables = '{}';"
                    " SET leaf_test.start = '{}'",
                    name.system, name.timeline, name.tables, start));
  }
  void run(const std::string& script) { connection_->run_script(script, timeout); }
  /// No trigger sees it.
  void damage(const std::string& script) {
    run("SET session_replication_role = replica; " + script + "; SET session_replication_role = origin");
  }
  void empty(const ServerName& here) {
    become(here, 1);
    damage(fmt::format(
        "DELETE FROM public.leaf_alloc; DELETE FROM public.leaf_worker; DELETE FROM public.leaf_event;"
        "UPDATE public.leaf_meta SET layout = DEFAULT, layout_fixed = false, next_worker = 0,"
        " first_worker = 0, last_worker = NULL, tags = 0, guard_steps = 100, leases_from = 0,"
        " leases_before = 0, worker_table = 'public.leaf_worker'::regclass::oid, granted_by = '{}',"
        " granted_before = NULL",
        real_name(here)));
  }

 private:
  leaf::test::TestDatabase database_;
  std::string oids_;
  std::unique_ptr<Connection> connection_;
};

class SqliteFile {
 public:
  SqliteFile() : connection_(connect("sqlite", store_.path())) {
    // What becomes of it when the power fails is not asked here.
    connection_->run_script("PRAGMA synchronous = OFF", timeout);
  }
  Connection& connection() { return *connection_; }

 private:
  leaf::test::SqliteStore store_;
  std::unique_ptr<Connection> connection_;
};

/// How much all histories have compared.
struct Compared {
  std::int64_t statements = 0;
  std::int64_t rows = 0;
  std::int64_t left_out = 0;
  std::vector<std::int64_t> shares{};
};

/// A store in a real database, and the model of it, which are asked the same.
class Pair {
 public:
  Pair(std::uint64_t seed, Compared& compared, PostgresqlInDisguise* server)
      : random(seed),
        model(server == nullptr ? Database::sqlite : Database::postgresql),
        compared_(compared),
        server_(server) {
    if (server_ == nullptr) {
      file_ = std::make_unique<SqliteFile>();
    } else {
      server_->empty(model.here);
      server_->set_clock(clock);
      model.left_out = [this](const TagRow& row, std::int64_t least, std::int64_t most) {
        return left_out(row, least, most);
      };
    }
    model.tables.meta.granted_by = model.here;
    model.tables.meta.worker_table = model.here.tables;
    const auto identity = real().execute(real().sql().identity, {}, timeout);
    model.tables.meta.deployment = Uuid::parse(identity.at(0).text(0));
  }

  bool is_file() const { return server_ == nullptr; }
  PostgresqlInDisguise& server() { return *server_; }

  /// Both refuse it, or return as many rows, which have the same in those columns.
  void ask(const char* Sql::*statement, const char* name, std::vector<Value> parameters,
           const std::vector<std::size_t>& columns) {
    CAPTURE(name);
    ++compared_.statements;
    const Answer real_answer =
        answer([&] { return real().execute(real().sql().*statement, in_reality(parameters), timeout); });
    const Answer modelled =
        answer([&] { return model.run(StoreModel::sql().*statement, parameters, clock, random); });
    INFO("it was told: ", real_answer.error, "; the model: ", modelled.error);
    REQUIRE(real_answer.error.empty() == modelled.error.empty());
    if (!is_file()) REQUIRE(real_answer.sqlstate == modelled.sqlstate);
    if (statement == &Sql::add_tag && !real_answer.rows.empty() && !modelled.rows.empty())
      note_incarnation(real_answer.rows[0].text(7), modelled.rows[0].text(7));
    REQUIRE(lines(real_answer.rows, columns, true) == lines(modelled.rows, columns, false));
    compared_.rows += std::ssize(modelled.rows);
  }

  /// The tables have the same rows.
  void compare_tables() {
    Rows tags, workers, meta;
    for (const TagRow& row : model.tables.tags) {
      tags.push_back(
          Row({row.name, number(row.max_id), number(row.step), number(row.start), number(row.limit),
               number(row.last_grant), number(row.is_removed ? 1 : 0), row.incarnation.text(),
               number(row.left_out_from), number(row.left_out_to), server_text(row.granted_by)}));
    }
    for (const WorkerRow& row : model.tables.workers) {
      const auto token = row.token ? std::optional(row.token->text()) : std::nullopt;
      workers.push_back(Row({number(row.id), row.owner, number(row.window_end), number(row.held_after),
                             number(row.renewed_at), number(row.clock_offset),
                             is_file() ? token : number(row.token ? 1 : 0)}));
    }
    const MetaRow& row = model.tables.meta;
    if (is_file()) {
      meta.push_back(Row({row.layout, number(row.first_worker), number(row.last_worker)}));
    } else {
      meta.push_back(
          Row({row.layout, number(row.is_layout_fixed ? 1 : 0), number(row.first_worker),
               number(row.last_worker), number(row.next_worker), number(row.tags), number(row.guard_steps),
               number(row.leases_from), number(row.leases_before), number(row.worker_table ? 0 : 1),
               server_text(row.granted_by), server_text(row.granted_before)}));
    }
    compare_rows(is_file() ? tag_rows_of_sqlite : tag_rows_of_postgresql, tags, 11);
    compare_rows(is_file() ? worker_rows_of_sqlite : worker_rows_of_postgresql, workers, 7);
    compare_rows(is_file() ? meta_row_of_sqlite : meta_row_of_postgresql, meta, is_file() ? 3 : 12);
  }

  /// What nobody may do to the tables: it fails, and changes nothing.
  void refuse(const std::string& script) {
    CAPTURE(script);
    ++compared_.statements;
    const Answer refused = answer([&] { return real().run_script(script, timeout); });
    if (script.starts_with("BEGIN")) real().run_script("ROLLBACK", timeout);
    CHECK(!refused.error.empty());
    compare_tables();
  }
  /// It changes nothing, be it with or without a word.
  void ignore(const std::string& script) {
    CAPTURE(script);
    ++compared_.statements;
    answer([&] { return real().run_script(script, timeout); });
    compare_tables();
  }
  /// What leads the names of tables in a script.
  std::string schema() const { return is_file() ? "" : "public."; }

  void set_clock(std::int64_t time) {
    clock = time;
    if (!is_file()) server_->set_clock(clock);
  }
  /// The clock of the host that asks.
  std::int64_t hosts_clock() {
    if (is_file() || random.one_in(3)) return clock;
    const std::int64_t most = random.one_in(10)  ? 3 * hour_ms
                              : random.one_in(4) ? 2 * minute_ms
                                                 : 4 * second_ms;
    return clock + random.between(-most, most);
  }
  void become(const ServerName& name, bool is_started) {
    model.here = name;
    starts_ += is_started ? 1 : 0;
    server_->become(name, starts_);
  }

  Value perhaps(std::int64_t first, std::int64_t last) {
    return random.one_in(2) ? Value() : Value(random.between(first, last));
  }

  Random random;
  StoreModel model;
  std::int64_t clock = begin_ms;

 private:
  using Rows = std::vector<Row>;
  struct Answer {
    Rows rows{};
    std::string error{};
    std::string sqlstate{};
  };
  template <typename Ask>
  static Answer answer(Ask ask) {
    try {
      return {.rows = ask()};
    } catch (const leaf::Error& error) {
      return {.error = error.what(), .sqlstate = error.sqlstate()};
    }
  }

  static std::optional<std::string> number(std::optional<std::int64_t> value) {
    return value ? std::optional(std::to_string(*value)) : std::nullopt;
  }
  std::optional<std::string> server_text(const std::optional<ServerName>& name) const {
    return name && !is_file() ? std::optional(name->text()) : std::nullopt;
  }

  Connection& real() { return is_file() ? file_->connection() : server_->connection(); }

  std::vector<Value> in_reality(std::vector<Value> parameters) const {
    for (Value& value : parameters) {
      const auto* const text = std::get_if<std::string>(&value);
      if (text != nullptr && *text == model.here.text()) value = server_->real_name(model.here);
    }
    return parameters;
  }

  void compare_rows(const char* query, const Rows& modelled, std::size_t count) {
    CAPTURE(query);
    std::vector<std::size_t> columns(count);
    for (std::size_t i = 0; i < count; ++i) columns[i] = i;
    REQUIRE(lines(real().execute(query, {}, timeout), columns, true) == lines(modelled, columns, false));
    compared_.rows += std::ssize(modelled);
  }

  /// The database makes it up, and the model another one.
  void note_incarnation(const std::string& in_reality, const std::string& modelled) {
    for (const auto& [known, before] : incarnations_) CHECK(before != in_reality);
    incarnations_[modelled] = in_reality;
  }
  std::string text(const Row& row, std::size_t column, bool is_real) const {
    if (row.is_null(column)) return "NULL";
    std::string found = row.text(column);
    if (!is_real) {
      const auto known = incarnations_.find(found);
      return known == incarnations_.end() ? found : known->second;
    }
    return is_file() ? found : server_->name_in_model(found);
  }

  std::string lines(const Rows& rows, const std::vector<std::size_t>& columns, bool is_real) {
    std::vector<std::string> lines;
    for (const Row& row : rows) {
      std::string& line = lines.emplace_back();
      for (const std::size_t column : columns) line += text(row, column, is_real) + " ";
    }
    std::ranges::sort(lines);
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return all;
  }

  /// What the server has drawn by chance.
  std::int64_t left_out(const TagRow& row, std::int64_t least, std::int64_t most) {
    for (const Row& found : real().execute(left_out_rows, {}, timeout)) {
      if (found.text(0) != row.name || found.is_null(1)) continue;
      const std::int64_t size = found.integer(1);
      CHECK(size >= least);
      CHECK(size <= most);
      ++compared_.left_out;
      if (most - least > 1'000) compared_.shares.push_back(size - least);
      return std::clamp(size, least, most);
    }
    return least;
  }

  Compared& compared_;
  PostgresqlInDisguise* server_;
  std::unique_ptr<SqliteFile> file_;
  std::map<std::string, std::string> incarnations_;
  int starts_ = 1;
};

const std::vector<std::size_t> tag_columns{0, 1, 2, 3, 4, 7};
const std::vector<std::size_t> grant_columns{0, 1, 2, 3, 4, 5, 6, 7, 8};
const std::vector<std::size_t> lease_columns{0, 1, 2, 3, 4, 5};
const std::vector<std::size_t> first_column{0};

/// Small numbers, so that limits are met, and large ones, so that a guard has room.
std::int64_t some_limit(Random& random) {
  return random.one_in(2) ? random.between(500, 3'000) : random.spread(3'000, std::int64_t{1} << 45);
}

void ask_of_tags(Pair& pair) {
  Random& random = pair.random;
  const std::string tag = "tag" + std::to_string(random.below(4));
  const std::int64_t count = random.spread(1, 300);
  const auto limit = [&] { return random.one_in(3) ? Value() : Value(some_limit(random)); };
  switch (random.below(9)) {
    case 0:
      return pair.ask(&Sql::add_tag, "add_tag",
                      {tag, count, random.one_in(3) ? Value() : Value(random.spread(0, 100'000)), limit(),
                       Value(), random.below(2)},
                      tag_columns);
    case 1:
      return pair.ask(&Sql::grant_exactly, "grant_exactly", {tag, count, random.spread(0, 1'000)},
                      grant_columns);
    case 2:
      return pair.ask(&Sql::update_tag, "update_tag",
                      {tag, pair.perhaps(1, 50), limit(), Value(), pair.perhaps(0, 3'000), random.below(2)},
                      tag_columns);
    case 3:
      if (!random.one_in(2)) return;
      return pair.ask(&Sql::remove_tag, "remove_tag", {tag}, first_column);
    case 4:
      return pair.ask(&Sql::tag, "tag", {tag}, {0, 1, 2, 3, 4, 7, 9});
    case 5:
      return random.one_in(2) ? pair.ask(&Sql::tags, "tags", {}, tag_columns)
                              : pair.ask(&Sql::all_tags, "all_tags", {}, {0, 1, 2, 3, 4, 7, 9});
    default:
      return pair.ask(&Sql::grant_segment, "grant_segment",
                      {tag, random.spread(0, 100), random.one_in(4) ? random.spread(0, 1'000) : 0},
                      grant_columns);
  }
}

constexpr const char* layouts[] = {"time:41,worker:10,sequence:12/1ms@1288834974657",
                                   "time:41,worker:2,sequence:20/1ms@1288834974657",
                                   "time:41,worker:3,sequence:19/1ms@1288834974657"};
constexpr std::int64_t greatest_workers[] = {1023, 3, 7};

void ask_of_pools(Pair& pair) {
  Random& random = pair.random;
  const auto which = static_cast<std::size_t>(random.below(3));
  const std::int64_t now = pair.hosts_clock();
  if (random.one_in(3)) {
    const std::vector<Value> parameters{layouts[which], greatest_workers[which]};
    return pair.ask(&Sql::set_layout, "set_layout", parameters, first_column);
  }
  const std::string layout = random.one_in(8) ? layouts[which] : pair.model.tables.meta.layout;
  const std::int64_t first = random.one_in(2) ? 0 : random.between(-1, 5);
  pair.ask(&Sql::set_workers, "set_workers",
           {first, random.one_in(2) ? Value() : Value(random.between(first - 1, 8)), layout, now},
           first_column);
}

/// The parameters that acquiring has in common.
std::vector<Value> acquisition(Pair& pair, std::int64_t worker) {
  Random& random = pair.random;
  const std::int64_t now = pair.hosts_clock();
  const std::int64_t window = random.one_in(50) ? 4 * day_ms : random.spread(1, 4 * minute_ms);
  const std::int64_t skew = random.one_in(3) ? 4 * hour_ms : 5 * second_ms;
  return {"owner" + std::to_string(random.below(3)),
          Uuid::random(random).text(),
          window,
          random.one_in(3) ? now + random.spread(0, minute_ms) : std::int64_t{0},
          now,
          worker,
          now - skew,
          now + skew,
          now + (random.one_in(4) ? random.spread(0, minute_ms) : hour_ms),
          random.one_in(8) ? now : std::int64_t{0},
          now + (random.one_in(8) ? random.spread(0, minute_ms) : 10 * hour_ms)};
}

std::int64_t some_worker(Pair& pair) {
  const auto& workers = pair.model.tables.workers;
  if (workers.empty() || pair.random.one_in(4)) return pair.random.below(8);
  return workers[static_cast<std::size_t>(pair.random.below(std::ssize(workers)))].id;
}

void ask_of_workers(Pair& pair, std::vector<std::string>& tokens) {
  Random& random = pair.random;
  const std::int64_t worker = some_worker(pair), now = pair.hosts_clock();
  const std::int64_t greatest = greatest_workers[static_cast<std::size_t>(random.below(3))];
  const auto& rows = pair.model.tables.workers;
  const auto row = std::ranges::find(rows, worker, &WorkerRow::id);
  const bool is_held = row != rows.end() && row->token;
  // Most of those who ask hold the worker, and some hold it no more.
  std::string token = Uuid::random(random).text();
  if (is_held && !random.one_in(4)) {
    token = row->token->text();
  } else if (!tokens.empty()) {
    token = tokens[static_cast<std::size_t>(random.below(std::ssize(tokens)))];
  }
  const std::int64_t window_end =
      is_held && !random.one_in(4) ? row->window_end : now + random.between(-100'000, 100'000);
  const std::int64_t silence = random.one_in(2) ? 0 : random.spread(0, 24 * hour_ms);
  const auto acquire = [&](const char* Sql::*statement, const char* name, std::int64_t which,
                           bool with_silence) {
    std::vector<Value> parameters = acquisition(pair, which);
    tokens.push_back(std::get<std::string>(parameters[1]));
    if (with_silence) parameters.emplace_back(silence);
    pair.ask(statement, name, parameters, lease_columns);
  };
  switch (random.below(15)) {
    case 0:
    case 1:
      return acquire(&Sql::acquire_held, "acquire_held", greatest, false);
    case 2:
      return acquire(&Sql::acquire_new, "acquire_new", greatest, false);
    case 3:
      return acquire(&Sql::acquire_silent, "acquire_silent", greatest, true);
    case 4:
    case 5:
      return acquire(&Sql::acquire_this, "acquire_this", worker, true);
    case 6:
    case 7:
      return pair.ask(
          &Sql::give_up, "give_up",
          {worker, token, window_end - random.one_in(2) * random.spread(0, 10 * minute_ms), random.below(2)},
          first_column);
    case 8:
      if (!random.one_in(2)) return;
      return pair.ask(&Sql::recycle, "recycle", {worker, now, random.below(2)}, first_column);
    case 9:
      return pair.ask(&Sql::workers, "workers", {now}, {0, 1, 2, 3, 4, 5, 6, 7});
    case 10:
      if (!random.one_in(3)) return;
      return pair.ask(&Sql::release, "release",
                      {"owner" + std::to_string(random.below(3)), random.one_in(2) ? Value() : Value(worker)},
                      first_column);
    case 11:
      if (random.one_in(3))
        return pair.ask(&Sql::recycle_silent, "recycle_silent", {now, silence}, first_column);
      if (random.one_in(2))
        return pair.ask(&Sql::owner_clocks, "owner_clocks", {"owner" + std::to_string(random.below(3)), now},
                        {0, 1, 2});
      return pair.ask(&Sql::lease_clocks, "lease_clocks", {worker, token, now}, {0, 1, 2});
    case 12:
      return random.one_in(2) ? pair.ask(&Sql::layout, "layout", {}, {0, 1, 2, 3})
                              : pair.ask(&Sql::has_new, "has_new", {greatest, now}, {0});
    default:
      const std::int64_t skew = random.one_in(3) ? 4 * hour_ms : 5 * second_ms;
      return pair.ask(&Sql::renew, "renew",
                      {worker, token, window_end, random.spread(1, 2 * minute_ms), now, now - skew,
                       now + skew, now + (random.one_in(8) ? random.spread(0, minute_ms) : 10 * hour_ms)},
                      lease_columns);
  }
}

void ask_of_failovers(Pair& pair) {
  Random& random = pair.random;
  switch (random.below(8)) {
    case 0:
      return pair.ask(&Sql::failover, "failover", {}, {0, 1, 2, 3});
    case 1:
      return pair.ask(&Sql::failover_tags, "failover_tags", {pair.model.here.text()}, {0, 1, 2, 3, 4});
    case 2: {
      const std::string meant = random.one_in(8) ? "1/1/1" : pair.model.here.text();
      const std::int64_t nothing_lost = random.below(2);
      return pair.ask(&Sql::settle_failover, "settle_failover",
                      {meant, nothing_lost, nothing_lost == 1 ? random.one_in(4) : std::int64_t{0}},
                      {0, 1, 2, 3});
    }
    case 3:
      if (random.one_in(2)) return pair.ask(&Sql::guard_steps, "guard_steps", {}, {0});
      return pair.ask(&Sql::set_guard_steps, "set_guard_steps",
                      {random.one_in(4) ? std::int64_t{0} : random.spread(1, 100)}, {});
    default:
      return pair.ask(&Sql::leases_from, "leases_from", {}, {0, 1});
  }
}

/// Time passes, and now and then somebody sets the clock.
void pass_time(Pair& pair) {
  Random& random = pair.random;
  if (random.one_in(2)) return;
  std::int64_t passed = random.spread(0, minute_ms);
  if (random.one_in(12)) passed = random.between(-30 * minute_ms, 40 * minute_ms);
  if (random.one_in(60)) passed = random.between(-2 * day_ms, 3 * day_ms);
  pair.set_clock(pair.clock + passed);
}

/// What somebody tries by hand, or a program of an earlier release, which knows nothing of ranges.
void try_by_hand(Pair& pair) {
  Random& random = pair.random;
  const Tables& tables = pair.model.tables;
  const std::string alloc = pair.schema() + "leaf_alloc", worker = pair.schema() + "leaf_worker",
                    meta = pair.schema() + "leaf_meta";
  const std::int64_t number = random.spread(1, 1'000);
  switch (random.below(pair.is_file() ? 6 : 10)) {
    case 0:
      if (!tables.tags.empty()) pair.refuse(fmt::format("UPDATE {} SET max_id = max_id - {}", alloc, number));
      return;
    case 1:
      if (!tables.tags.empty()) pair.refuse("DELETE FROM " + alloc);
      return;
    case 2:
      if (!tables.tags.empty()) pair.refuse(fmt::format("UPDATE {} SET biz_tag = biz_tag || 'x'", alloc));
      return;
    case 3:
      if (!tables.workers.empty())
        pair.refuse(fmt::format("UPDATE {} SET window_end = window_end - {}", worker, number));
      return;
    case 4:
      if (!tables.workers.empty()) pair.refuse("DELETE FROM " + worker);
      return;
    case 5: {
      // As a program of an earlier release takes and renews them.
      const std::int64_t first = tables.meta.first_worker, last = tables.meta.last_worker.value_or(1 << 20);
      pair.ignore(
          fmt::format("UPDATE {} SET window_end = window_end + {} WHERE worker_id NOT BETWEEN {} AND {}",
                      worker, number, first, last));
      if (first == 0 && !tables.meta.last_worker) return;
      return pair.refuse(fmt::format(
          "INSERT INTO {} (worker_id, owner, window_end, held_after, renewed_at, clock_offset)"
          " VALUES ({}, 'earlier', {}, 0, {}, 0)",
          worker, tables.meta.last_worker ? last + 1 : first - 1, pair.clock + number, pair.clock));
    }
    case 6:
      return pair.refuse(fmt::format("UPDATE {} SET next_worker = next_worker + {}", meta,
                                     random.one_in(2) ? -number : number + 1));
    case 7:
      return pair.refuse(fmt::format(
          "BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE {} SET first_worker = first_worker", meta));
    case 8:
      return pair.refuse(tables.meta.is_layout_fixed ? fmt::format("UPDATE {} SET layout_fixed = false", meta)
                                                     : "TRUNCATE " + worker);
    default:
      if (!tables.tags.empty()) {
        pair.refuse(random.one_in(2)
                        ? fmt::format("UPDATE {} SET update_time = 'infinity'", alloc)
                        : fmt::format("UPDATE {} SET last_grant = last_grant + {}", alloc, number));
      }
  }
}

/// Another server, which has the same rows or fewer.
void take_over(Pair& pair) {
  Random& random = pair.random;
  StoreModel& model = pair.model;
  ServerName name = model.here;
  switch (random.below(8)) {
    case 0: {  // a copy of the database in the same server
      ++name.tables;
      return pair.become(name, false);
    }
    case 1:
      ++name.tables;
      ++name.timeline;
      break;
    case 2:
      ++name.system;
      name.timeline = random.between(1, 3);
      ++name.tables;
      break;
    case 3:
      if (name.timeline > 1) --name.timeline;  // the one before comes back
      break;
    case 4:
      name.timeline += 2;
      break;
    case 5:  // a restart
      return pair.become(name, true);
    default:
      ++name.timeline;
  }
  pair.become(name, random.one_in(2) || name.system != model.here.system);
}

/// Rows are lost, or come from a backup.
void damage(Pair& pair) {
  Random& random = pair.random;
  Tables& tables = pair.model.tables;
  const auto some = [&](auto& rows) { return rows.begin() + random.below(std::ssize(rows)); };
  switch (random.below(5)) {
    case 0:
      pair.server().damage("DELETE FROM public.leaf_worker");
      tables.workers.clear();
      return;
    case 1: {
      if (tables.tags.empty()) return;
      const auto row = some(tables.tags);
      pair.server().damage(fmt::format("DELETE FROM public.leaf_alloc WHERE biz_tag = '{}'", row->name));
      tables.tags.erase(row);
      return;
    }
    case 2: {
      if (tables.tags.empty()) return;
      const auto row = some(tables.tags);
      pair.server().damage(
          fmt::format("CREATE TEMPORARY TABLE kept AS SELECT * FROM public.leaf_alloc WHERE biz_tag = '{0}';"
                      "UPDATE kept SET update_time = update_time - interval '1 day';"
                      "DELETE FROM public.leaf_alloc WHERE biz_tag = '{0}';"
                      "SET session_replication_role = origin;"
                      "INSERT INTO public.leaf_alloc SELECT * FROM kept; DROP TABLE kept",
                      row->name));
      row->granted_by.reset();
      return;
    }
    case 3: {
      if (tables.workers.empty()) return;
      const auto row = some(tables.workers);
      if (row->renewed_at >= pair.clock || row->window_end > pair.clock) return;
      pair.server().damage(
          fmt::format("CREATE TEMPORARY TABLE kept AS SELECT * FROM public.leaf_worker WHERE worker_id = {0};"
                      "DELETE FROM public.leaf_worker WHERE worker_id = {0};"
                      "SET session_replication_role = origin;"
                      "INSERT INTO public.leaf_worker SELECT * FROM kept; DROP TABLE kept",
                      row->id));
      const WorkerRow kept = *row;
      tables.workers.erase(row);
      return pair.model.put_back(kept, pair.clock);
    }
    default:
      // As a standby that lags has it.
      pair.server().damage(
          fmt::format("UPDATE public.leaf_meta SET granted_by = '{}'", pair.server().real_name({9, 1, 9})));
      tables.meta.granted_by = ServerName{9, 1, 9};
  }
}

/// Runs histories of so many steps from the first seed on.
void run(PostgresqlInDisguise* server, std::uint64_t seeds, int steps, Compared& compared) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    Pair pair(seed, compared, server);
    std::vector<std::string> tokens;
    for (int step = 0; step < steps; ++step) {
      CAPTURE(step);
      pass_time(pair);
      const std::int64_t what = pair.random.below(100);
      if (what < 40) {
        ask_of_tags(pair);
      } else if (what < 85) {
        ask_of_workers(pair, tokens);
      } else if (what < 90) {
        ask_of_pools(pair);
      } else if (what < 93) {
        try_by_hand(pair);
      } else if (server == nullptr) {
        pair.compare_tables();
      } else if (what < 97) {
        ask_of_failovers(pair);
      } else if (what < 99) {
        take_over(pair);
      } else {
        damage(pair);
      }
    }
    pair.compare_tables();
  }
}

}  // namespace

TEST_CASE("simulation: the model answers as SQLite does") {
  Compared compared;
  run(nullptr, 60, 400, compared);
  leaf::test::figure("store model/sqlite", compared.statements, "statements compared");
}

TEST_CASE("simulation: the model answers as PostgreSQL does") {
  if (std::getenv("PGHOST") == nullptr) return;
  Compared compared;
  PostgresqlInDisguise server;
  run(&server, 60, 400, compared);
  leaf::test::figure("store model/postgresql", compared.statements, "statements compared");
  leaf::test::figure("store model/postgresql", compared.left_out, "guards compared");
  // Two copies of one state leave out different amounts.
  const auto drawn = compared.shares.size();
  std::ranges::sort(compared.shares);
  const auto repeated = std::ranges::unique(compared.shares);
  CHECK(drawn > 100);
  CHECK(std::ranges::ssize(repeated) * 20 < std::ssize(compared.shares));
}
