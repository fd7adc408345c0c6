#include "simulation/store_pair.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "leaf/error.hpp"

namespace leaf::simulation {

namespace {

using store::Row;
using store::Sql;
using store::Value;

constexpr std::chrono::milliseconds timeout{30'000};

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
constexpr const char* drawn = "SELECT min(id), count(*) FROM leaf_next($1::text, $2::bigint) AS drawn (id)";

std::optional<std::string> number(std::optional<std::int64_t> value) {
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

}  // namespace

StorePair::StorePair(std::uint64_t seed, Compared& compared, DisguisedPostgresql* server)
    : random(seed),
      model(server == nullptr ? Database::sqlite : Database::postgresql),
      compared_(compared),
      server_(server) {
  if (server_ == nullptr) {
    file_ = std::make_unique<test::SqliteStore>();
    file_connection_ = connect("sqlite", file_->path());
    // What becomes of it when the power fails is not asked here.
    real().run_script("PRAGMA synchronous = OFF", timeout);
  } else {
    server_->empty(model.here);
    server_->set_clock(clock, clock);
    model.left_out = [this](const TagRow& row, std::int64_t least, std::int64_t most) {
      return left_out(row, least, most);
    };
  }
  model.tables.meta.granted_by = model.here;
  model.tables.meta.worker_table = model.here.tables;
  const auto identity = real().execute(real().sql().identity, {}, timeout);
  model.tables.meta.deployment = Uuid::parse(identity.at(0).text(0));
}

StorePair::~StorePair() = default;

template <typename Ask>
StorePair::Answer StorePair::answer(Ask ask) {
  try {
    return {.rows = ask()};
  } catch (const Error& error) {
    return {.error = error.what(), .sqlstate = error.sqlstate()};
  }
}

void StorePair::ask(Statement statement, const char* name, Values parameters,
                    const std::vector<std::size_t>& columns) {
  compare(statement, name, parameters, columns,
          [&] { return real().execute(real().sql().*statement, in_reality(parameters), timeout); });
}

void StorePair::ask_above(Statement statement, const char* name, Values parameters, std::int64_t floor,
                          const std::vector<std::size_t>& columns) {
  const Values before = parameters;
  if (is_file()) parameters.back() = std::max(std::get<std::int64_t>(parameters.back()), floor);
  compare(statement, name, parameters, columns, [&] {
    return real().execute_above(
        real().sql().*statement, before, [&] { return floor; }, timeout);
  });
}

template <typename Ask>
void StorePair::compare(Statement statement, const char* name, const Values& parameters,
                        const std::vector<std::size_t>& columns, Ask ask) {
  CAPTURE(name);
  ++compared_.statements;
  const Answer real_answer = answer(ask);
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

StorePair::Answer StorePair::draw(const std::string& tag, std::int64_t count) {
  CAPTURE(tag);
  CAPTURE(count);
  ++compared_.statements;
  return answer([&] { return real().execute(drawn, Values{tag, count}, timeout); });
}

void StorePair::draw_in_sql(const std::string& tag, std::int64_t count) {
  const Answer real_answer = draw(tag, count);
  const Answer modelled = answer([&] {
    return model.run(StoreModel::sql().grant_exactly, Values{tag, count, std::int64_t{0}}, clock, random);
  });
  INFO("it was told: ", real_answer.error, "; the model: ", modelled.error);
  REQUIRE(real_answer.error.empty() == !modelled.rows.empty());
  if (modelled.rows.empty()) return;
  CHECK(real_answer.rows.at(0).integer(0) == modelled.rows[0].integer(0));
  CHECK(real_answer.rows.at(0).integer(1) == count);
}

void StorePair::compare_tables() {
  Rows tags, workers, meta;
  for (const TagRow& row : model.tables.tags) {
    tags.push_back(Row({row.name, number(row.max_id), number(row.step), number(row.start), number(row.limit),
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

void StorePair::require_refused(const Answer& answer) {
  ++compared_.statements;
  CHECK(!answer.error.empty());
  compare_tables();
}

void StorePair::refuse(const std::string& script) {
  CAPTURE(script);
  const Answer refused = answer([&] { return real().run_script(script, timeout); });
  if (script.starts_with("BEGIN")) real().run_script("ROLLBACK", timeout);
  require_refused(refused);
}

void StorePair::refuse(Statement statement, const char* name, Values parameters) {
  CAPTURE(name);
  require_refused(
      answer([&] { return real().execute(real().sql().*statement, in_reality(parameters), timeout); }));
}

void StorePair::refuse_draw_in_sql(const std::string& tag, std::int64_t count) {
  ++compared_.refused_draws;
  CHECK(!draw(tag, count).error.empty());
}

void StorePair::ignore(const std::string& script) {
  CAPTURE(script);
  ++compared_.statements;
  answer([&] { return real().run_script(script, timeout); });
  compare_tables();
}

const TagRow* StorePair::tag(const std::string& name) const {
  const auto found = std::ranges::find(model.tables.tags, name, &TagRow::name);
  return found == model.tables.tags.end() || found->is_removed ? nullptr : &*found;
}

void StorePair::set_clock(std::int64_t time) {
  clock = time;
  if (!is_file()) server_->set_clock(clock, clock);
}

void StorePair::set_clock_back_in_each(std::int64_t by) {
  model.set_back_by = by;
  server_->set_clock(clock, clock + by);
}

std::int64_t StorePair::hosts_clock() {
  if (is_file() || random.one_in(3)) return clock;
  const std::int64_t most = random.one_in(10) ? 3 * hour_ms : random.one_in(4) ? 2 * minute_ms : 4'000;
  return clock + random.between(-most, most);
}

void StorePair::become(const ServerName& name, bool is_started) {
  model.here = name;
  starts_ += is_started ? 1 : 0;
  server_->become(name, starts_);
}

std::optional<std::string> StorePair::server_text(const std::optional<ServerName>& name) const {
  return name && !is_file() ? std::optional(name->text()) : std::nullopt;
}

StorePair::Values StorePair::in_reality(Values parameters) const {
  for (Value& value : parameters) {
    const auto* const text = std::get_if<std::string>(&value);
    if (text != nullptr && *text == model.here.text()) value = server_->real_name(model.here);
  }
  return parameters;
}

void StorePair::compare_rows(const char* query, const Rows& modelled, std::size_t count) {
  CAPTURE(query);
  std::vector<std::size_t> columns(count);
  for (std::size_t i = 0; i < count; ++i) columns[i] = i;
  REQUIRE(lines(real().execute(query, {}, timeout), columns, true) == lines(modelled, columns, false));
  compared_.rows += std::ssize(modelled);
}

void StorePair::note_incarnation(const std::string& in_reality, const std::string& modelled) {
  for (const auto& [known, before] : incarnations_) CHECK(before != in_reality);
  incarnations_[modelled] = in_reality;
}

std::string StorePair::text(const Row& row, std::size_t column, bool is_real) const {
  if (row.is_null(column)) return "NULL";
  std::string found = row.text(column);
  if (!is_real) {
    const auto known = incarnations_.find(found);
    return known == incarnations_.end() ? found : known->second;
  }
  return is_file() ? found : server_->name_in_model(found);
}

std::string StorePair::lines(const Rows& rows, const std::vector<std::size_t>& columns, bool is_real) const {
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

std::int64_t StorePair::left_out(const TagRow& row, std::int64_t least, std::int64_t most) {
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

}  // namespace leaf::simulation
