#include "simulation/postgresql_model.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "leaf/detail/module.hpp"
#include "leaf/store.hpp"
#include "store/connection.hpp"
#include "support/test_database.hpp"

using namespace leaf::simulation;
using leaf::store::Value;

namespace {

constexpr std::chrono::milliseconds timeout{5000};
constexpr std::int64_t hour_ms = 3'600'000;

/// A store in the real server, and the model of it, which are asked the same.
class Pair {
 public:
  explicit Pair(std::uint64_t seed) : random(seed) {
    leaf::Store({.url = database_.url()}).migrate();
    const auto* const driver = static_cast<const leaf::store::Driver*>(
        leaf::detail::module_symbol("postgresql", "the driver", "leaf_store_driver"));
    real_ = driver->connect(database_.url(), "test", leaf::store::IfMissing::fail, timeout);
    REQUIRE(real_->find_tables(timeout));
    model_.tables.meta.granted_by = model_.here;
    model_.tables.meta.worker_table = model_.here.tables;
    clock_ = std::chrono::duration_cast<std::chrono::milliseconds>(
                 std::chrono::system_clock::now().time_since_epoch())
                 .count();
  }

  /// Both return as many rows, which have the same in those columns.
  void ask(const char* leaf::store::Sql::*statement, const char* name, const std::vector<Value>& parameters,
           const std::vector<std::size_t>& columns) {
    CAPTURE(name);
    auto real = answer([&] { return real_->execute(real_->sql().*statement, parameters, timeout); });
    auto modelled =
        answer([&] { return model_.run(PostgresqlModel::sql().*statement, parameters, clock_, random); });
    CHECK(real.sqlstate == modelled.sqlstate);
    const auto text = [&](const std::vector<leaf::store::Row>& rows) {
      std::vector<std::string> lines;
      for (const auto& row : rows) {
        std::string& line = lines.emplace_back();
        for (const std::size_t column : columns)
          line += row.is_null(column) ? "NULL " : row.text(column) + " ";
      }
      std::ranges::sort(lines);
      std::string all;
      for (const std::string& line : lines) all += line + "\n";
      return all;
    };
    REQUIRE(text(real.rows) == text(modelled.rows));
  }

  /// As if another server had leased last, when its clock was ahead of what is now the server's.
  void take_over(std::int64_t ahead, std::int64_t window, std::int64_t wait_before) {
    const std::int64_t newest = clock_ + ahead;
    database_.sql().run(fmt::format(
        "ALTER TABLE leaf_meta DISABLE TRIGGER USER; ALTER TABLE leaf_worker DISABLE TRIGGER USER;"
        "UPDATE leaf_meta SET granted_by = 'another', leases_from = {};"
        "UPDATE leaf_worker SET renewed_at = {}, window_end = {};"
        "ALTER TABLE leaf_meta ENABLE TRIGGER USER; ALTER TABLE leaf_worker ENABLE TRIGGER USER",
        newest + wait_before, newest, newest + window));
    model_.tables.meta.granted_by.reset();
    model_.tables.meta.leases_from = newest + wait_before;
    for (WorkerRow& row : model_.tables.workers) {
      row.renewed_at = newest;
      row.window_end = newest + window;
    }
  }

  Value perhaps(std::int64_t first, std::int64_t last) {
    return random.one_in(2) ? Value() : Value(random.between(first, last));
  }
  /// The caller's clock is an hour behind the server's, so that both take it for the time.
  std::int64_t now() { return clock_ - hour_ms + (passed_ += random.spread(0, 60'000)); }

  Random random;

 private:
  struct Answer {
    std::vector<leaf::store::Row> rows{};
    std::string sqlstate{};
  };
  template <typename Ask>
  static Answer answer(Ask ask) {
    try {
      return {.rows = ask()};
    } catch (const leaf::Error& error) {
      return {.sqlstate = error.sqlstate()};
    }
  }

  leaf::test::TestDatabase database_;
  std::unique_ptr<leaf::store::Connection> real_;
  PostgresqlModel model_{};
  std::int64_t clock_;
  std::int64_t passed_ = 0;
};

using leaf::store::Sql;

void ask_of_tags(Pair& pair) {
  Random& random = pair.random;
  const std::string tag = "tag" + std::to_string(random.below(3));
  const std::int64_t count = random.spread(1, 300);
  const std::vector<std::size_t> columns{0, 1, 2, 3, 4};
  switch (random.below(8)) {
    case 0:
      return pair.ask(&Sql::add_tag, "add_tag",
                      {tag, count, pair.perhaps(0, 500), pair.perhaps(500, 3'000), Value(), random.below(2)},
                      columns);
    case 1:
      return pair.ask(&Sql::grant_exactly, "grant_exactly", {tag, count, random.spread(0, 1'000)},
                      {0, 1, 2, 3, 5, 8});
    case 2:
      return pair.ask(&Sql::update_tag, "update_tag",
                      {tag, pair.perhaps(1, 50), pair.perhaps(0, 3'000), Value(), pair.perhaps(0, 2'000),
                       random.below(2)},
                      columns);
    case 3:
      if (!random.one_in(4)) return;
      return pair.ask(&Sql::remove_tag, "remove_tag", {tag}, {0});
    case 4:
      return pair.ask(&Sql::tag, "tag", {tag}, {0, 1, 2, 3, 4, 9});
    case 5:
      return pair.ask(&Sql::tags, "tags", {}, columns);
    default:
      return pair.ask(&Sql::grant_segment, "grant_segment",
                      {tag, random.spread(0, 100), random.spread(0, 1'000)}, {0, 1, 2, 3, 5, 8});
  }
}

void ask_of_workers(Pair& pair, std::vector<std::string>& tokens) {
  Random& random = pair.random;
  const std::vector<std::size_t> lease{0, 1, 2, 3};
  const std::int64_t now = pair.now(), window = random.spread(1, 120'000);
  const auto acquire = [&](std::int64_t worker, bool with_silence) {
    tokens.push_back(Uuid::random(random).text());
    std::vector<Value> parameters{"owner" + std::to_string(random.below(3)),
                                  tokens.back(),
                                  window,
                                  random.one_in(4) ? now + random.below(10'000) : 0,
                                  now,
                                  worker,
                                  now - 2 * hour_ms,
                                  now + 2 * hour_ms,
                                  now + random.spread(0, 60'000),
                                  std::int64_t{0},
                                  now + 10 * hour_ms};
    if (with_silence) parameters.emplace_back(random.one_in(2) ? std::int64_t{0} : 24 * hour_ms);
    return parameters;
  };
  const std::string token = tokens.empty()
                                ? Uuid::random(random).text()
                                : tokens[static_cast<std::size_t>(random.below(std::ssize(tokens)))];
  const std::int64_t worker = random.below(4);
  switch (random.below(9)) {
    case 0:
      return pair.ask(&Sql::acquire_held, "acquire_held", acquire(3, false), lease);
    case 1:
      return pair.ask(&Sql::acquire_new, "acquire_new", acquire(3, false), lease);
    case 3:
      return pair.ask(&Sql::acquire_this, "acquire_this", acquire(worker, true), lease);
    case 4:
      return pair.ask(&Sql::give_up, "give_up",
                      {worker, token, now + random.between(-100'000, 100'000), random.below(2)}, {0});
    case 5:
      if (!random.one_in(3)) return;
      return pair.ask(&Sql::recycle, "recycle", {worker, now, random.below(2)}, {0});
    case 6:
      return pair.ask(&Sql::workers, "workers", {now}, {0, 1, 2, 3});
    default:
      return pair.ask(&Sql::renew, "renew",
                      {worker, token, now + random.between(-100'000, 100'000), window, now, now - 2 * hour_ms,
                       now + 2 * hour_ms, now + 10 * hour_ms},
                      lease);
  }
}

}  // namespace

TEST_CASE("simulation: the model answers as the server does") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    Pair pair(seed);
    std::vector<std::string> tokens;
    for (int i = 0; i < 150; ++i) {
      ask_of_tags(pair);
      ask_of_workers(pair, tokens);
    }
  }
}

TEST_CASE("simulation: the model waits as long as the server does where another one leased last") {
  constexpr std::int64_t minute_ms = 60'000;
  constexpr std::int64_t long_windows[] = {minute_ms, 100 * minute_ms, 100 * hour_ms};
  for (const std::int64_t window : long_windows) {
    for (const std::int64_t wait_before : {-hour_ms, 1000 * hour_ms}) {
      Pair pair(1);
      const std::int64_t now = pair.now();
      pair.ask(&Sql::acquire_new, "acquire_new",
               {"owner", Uuid::random(pair.random).text(), minute_ms, std::int64_t{0}, now, std::int64_t{3},
                now - 2 * hour_ms, now + 2 * hour_ms, now + minute_ms, std::int64_t{0}, now + 10 * hour_ms},
               {0});
      pair.take_over(hour_ms, window, wait_before);
      pair.ask(&Sql::leases_from, "leases_from", {}, {0});
    }
  }
}
