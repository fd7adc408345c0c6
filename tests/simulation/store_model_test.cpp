#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "simulation/store_pair.hpp"
#include "support/figure.hpp"

using namespace leaf::simulation;
using leaf::store::Sql;
using leaf::store::Value;

namespace {

constexpr std::int64_t day_ms = 24 * hour_ms;

const std::vector<std::size_t> tag_columns{0, 1, 2, 3, 4, 7};
const std::vector<std::size_t> grant_columns{0, 1, 2, 3, 4, 5, 6, 7, 8};
const std::vector<std::size_t> lease_columns{0, 1, 2, 3, 4, 5};
const std::vector<std::size_t> first_column{0};

/// Small numbers, so that limits are met, and large ones, so that a guard has room.
std::int64_t some_limit(Random& random) {
  return random.one_in(2) ? random.between(500, 3'000) : random.spread(3'000, std::int64_t{1} << 45);
}

/// `count`, or about as many as are left up to a limit that is near.
std::int64_t or_what_is_left(StorePair& pair, const std::string& tag, std::int64_t count) {
  const TagRow* const row = pair.tag(tag);
  if (row == nullptr || !row->limit || *row->limit - row->max_id > 10'000 || !pair.random.one_in(4))
    return count;
  return std::max<std::int64_t>(*row->limit - row->max_id + pair.random.below(3), 1);
}

void ask_of_tags(StorePair& pair) {
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
      return pair.ask_above(&Sql::grant_exactly, "grant_exactly",
                            {tag, or_what_is_left(pair, tag, count), random.spread(0, 1'000)},
                            random.one_in(4) ? random.spread(0, 2'000) : 0, grant_columns);
    case 2:
      return pair.ask(&Sql::update_tag, "update_tag",
                      {tag, pair.perhaps(1, 50), limit(), Value(), pair.perhaps(0, 3'000), random.below(2)},
                      tag_columns);
    case 3:
      if (!random.one_in(2)) return;
      return pair.ask(&Sql::remove_tag, "remove_tag", {tag, random.below(2)}, first_column);
    case 4:
      return pair.ask(&Sql::tag, "tag", {tag}, {0, 1, 2, 3, 4, 7, 9});
    case 5:
      if (!pair.is_file() && random.one_in(2)) return pair.draw_in_sql(tag, count);
      return random.one_in(2) ? pair.ask(&Sql::tags, "tags", {}, tag_columns)
                              : pair.ask(&Sql::all_tags, "all_tags", {}, {0, 1, 2, 3, 4, 7, 9});
    default:
      return pair.ask_above(&Sql::grant_segment, "grant_segment",
                            {tag, random.spread(0, 100), random.one_in(4) ? random.spread(0, 1'000) : 0},
                            random.one_in(4) ? random.spread(0, 2'000) : 0, grant_columns);
  }
}

constexpr const char* layouts[] = {"time:41,worker:10,sequence:12/1ms@1288834974657",
                                   "time:41,worker:2,sequence:20/1ms@1288834974657",
                                   "time:41,worker:3,sequence:19/1ms@1288834974657"};
constexpr std::int64_t greatest_workers[] = {1023, 3, 7};

void ask_of_pools(StorePair& pair) {
  Random& random = pair.random;
  const auto which = static_cast<std::size_t>(random.below(3));
  const std::int64_t now = pair.hosts_clock();
  if (random.one_in(3)) {
    const std::vector<Value> parameters{layouts[which], greatest_workers[which]};
    return pair.ask(&Sql::set_layout, "set_layout", parameters, first_column);
  }
  if (random.one_in(6)) {
    // Of a store that is another one by now, so that it is left as it is.
    return pair.ask(&Sql::begin_deployment, "begin_deployment",
                    {Uuid::random(random).text(), Uuid::random(random).text()}, first_column);
  }
  const std::string layout = random.one_in(8) ? layouts[which] : pair.model.tables.meta.layout;
  const std::int64_t first = random.one_in(2) ? 0 : random.between(-1, 5);
  pair.ask(&Sql::set_workers, "set_workers",
           {first, random.one_in(2) ? Value() : Value(random.between(first - 1, 8)), layout, now},
           first_column);
}

/// Few, so that one has several workers.
std::string some_owner(Random& random) {
  return "owner" + std::to_string(random.below(random.one_in(3) ? 3 : 1));
}

/// The parameters that acquiring has in common.
std::vector<Value> acquisition(StorePair& pair, std::int64_t worker) {
  Random& random = pair.random;
  const std::int64_t now = pair.hosts_clock();
  const std::int64_t window =
      random.one_in(30) ? random.between(1, 8) * 12 * hour_ms : random.spread(1, 4 * minute_ms);
  const std::int64_t skew = random.one_in(3) ? 4 * hour_ms : 5'000;
  // Often one that has held that worker.
  const auto& rows = pair.model.tables.workers;
  const auto known = std::ranges::find(rows, worker, &WorkerRow::id);
  const bool is_its_owner = known != rows.end() && known->owner && random.one_in(2);
  return {is_its_owner ? *known->owner : some_owner(random),
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

std::int64_t some_worker(StorePair& pair) {
  const auto& workers = pair.model.tables.workers;
  if (workers.empty() || pair.random.one_in(4)) return pair.random.below(8);
  return workers[static_cast<std::size_t>(pair.random.below(std::ssize(workers)))].id;
}

void ask_of_workers(StorePair& pair, std::vector<std::string>& tokens) {
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
    const bool is_set_back = !pair.is_file() && random.one_in(8);
    if (is_set_back) pair.set_clock_back_in_each(random.spread(1, hour_ms));
    pair.ask(statement, name, parameters, lease_columns);
    if (is_set_back) pair.set_clock_back_in_each(0);
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
      if (!random.one_in(2)) {
        return pair.ask(&Sql::give_up_others, "give_up_others",
                        {some_owner(random), token, random.one_in(4) ? worker : std::int64_t{-1},
                         random.spread(1, 10 * minute_ms)},
                        first_column);
      }
      return pair.ask(&Sql::recycle, "recycle", {worker, now, random.below(2)}, first_column);
    case 9:
      return pair.ask(&Sql::workers, "workers", {now}, {0, 1, 2, 3, 4, 5, 6, 7});
    case 10:
      if (!random.one_in(3)) return;
      return pair.ask(&Sql::release, "release",
                      {some_owner(random), random.one_in(2) ? Value() : Value(worker)}, first_column);
    case 11:
      if (random.one_in(3))
        return pair.ask(&Sql::recycle_silent, "recycle_silent", {now, silence}, first_column);
      if (random.one_in(2))
        return pair.ask(&Sql::owner_clocks, "owner_clocks", {some_owner(random), now}, {0, 1, 2});
      return pair.ask(&Sql::lease_clocks, "lease_clocks", {worker, token, now}, {0, 1, 2, 3});
    case 12:
      return random.one_in(2) ? pair.ask(&Sql::layout, "layout", {}, {0, 1, 2, 3})
                              : pair.ask(&Sql::has_new, "has_new", {greatest, now}, {0});
    default:
      const std::int64_t skew = random.one_in(3) ? 4 * hour_ms : 5'000;
      return pair.ask(&Sql::renew, "renew",
                      {worker, token, window_end, random.spread(1, 2 * minute_ms), now, now - skew,
                       now + skew, now + (random.one_in(8) ? random.spread(0, minute_ms) : 10 * hour_ms)},
                      lease_columns);
  }
}

void ask_of_failovers(StorePair& pair) {
  Random& random = pair.random;
  switch (random.below(8)) {
    case 0:
      return pair.ask(&Sql::failover, "failover", {}, {0, 1, 2, 3});
    case 1:
      return pair.ask(&Sql::failover_tags, "failover_tags", {pair.model.here.text()}, {0, 1, 2, 3, 4, 5});
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
void pass_time(StorePair& pair) {
  Random& random = pair.random;
  if (random.one_in(2)) return;
  std::int64_t passed = random.spread(0, minute_ms);
  if (random.one_in(12)) passed = random.between(-30 * minute_ms, 40 * minute_ms);
  if (random.one_in(60)) passed = random.between(-2 * day_ms, 3 * day_ms);
  pair.set_clock(pair.clock + passed);
}

/// What somebody tries by hand, or a program of an earlier release, which knows nothing of ranges.
void try_by_hand(StorePair& pair) {
  Random& random = pair.random;
  const Tables& tables = pair.model.tables;
  const std::string alloc = pair.schema() + "leaf_alloc", worker = pair.schema() + "leaf_worker",
                    meta = pair.schema() + "leaf_meta";
  const std::int64_t number = random.spread(1, 1'000);
  switch (random.below(pair.is_file() ? 6 : 11)) {
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
      return pair.refuse("BEGIN; SAVEPOINT before; SELECT public.leaf_next('tag0')");
    case 9:
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

/// What makes a crash of the server lose commits, or keeps triggers from running.
struct Setting {
  const char* set;
  const char* reset;
  std::int64_t durability;  ///< what the model is to know of it
};
constexpr Setting settings[] = {
    {"SET synchronous_commit = off", "RESET synchronous_commit", 0},
    {"SET client_min_messages = error", "RESET client_min_messages", 0},
    {"ALTER TABLE public.leaf_alloc SET UNLOGGED", "ALTER TABLE public.leaf_alloc SET LOGGED", 2},
    {"SET session_replication_role = replica", "SET session_replication_role = origin", 4},
};

/// Grants, leaf_next() and administration refuse to go on.
void ask_without_durability(StorePair& pair) {
  Random& random = pair.random;
  const Setting& setting = settings[random.below(std::ssize(settings))];
  const std::string tag = "tag" + std::to_string(random.below(4));
  const TagRow* const row = pair.tag(tag);
  // Without triggers the guard of another server is not left out.
  if (row == nullptr || row->granted_by != pair.model.here) return;
  CAPTURE(setting.set);
  pair.server().run(setting.set);
  pair.model.durability = setting.durability;
  switch (random.below(5)) {
    case 0:
      pair.ask(&Sql::grant_segment, "grant_segment", {tag, std::int64_t{0}, std::int64_t{0}}, grant_columns);
      break;
    case 1:
      pair.ask(&Sql::grant_exactly, "grant_exactly", {tag, std::int64_t{1}, std::int64_t{0}}, grant_columns);
      break;
    case 2:
      pair.refuse_draw_in_sql(tag, random.spread(1, 300));
      break;
    case 3:
      pair.refuse(&Sql::remove_tag, "remove_tag", {tag, std::int64_t{0}});
      break;
    default:
      pair.refuse(&Sql::update_tag, "update_tag",
                  {tag, std::int64_t{7}, Value(), Value(), Value(), std::int64_t{0}});
  }
  pair.model.durability = 1;
  pair.server().run(setting.reset);
}

/// The tables are another deployment's, or were made anew without their triggers, or ask for a later release.
void ask_of_changed_tables(StorePair& pair) {
  Random& random = pair.random;
  const std::string tag = "tag" + std::to_string(random.below(4));
  const TagRow* const row = pair.tag(tag);
  const std::string meta = pair.schema() + "leaf_meta";
  const auto damage = [&](const std::string& script) -> void {
    if (pair.is_file()) {
      pair.real().run_script(script, std::chrono::milliseconds(30'000));
      return;
    }
    pair.server().damage(script);
  };
  if (row == nullptr || (!pair.is_file() && row->granted_by != pair.model.here)) return;
  if (random.one_in(2)) {
    damage("UPDATE " + meta + " SET min_reader = min_reader + 1000");
    pair.model.asks_for_later_release = true;
    if (!pair.is_file() && random.one_in(2)) {
      pair.refuse_draw_in_sql(tag, 1);
    } else {
      pair.ask(&Sql::grant_segment, "grant_segment", {tag, std::int64_t{0}, std::int64_t{0}}, grant_columns);
    }
    pair.model.asks_for_later_release = false;
    return damage("UPDATE " + meta + " SET min_reader = min_reader - 1000");
  }
  if (pair.is_file()) return;
  if (random.one_in(2)) {
    damage("UPDATE public.leaf_meta SET deployment = '00000000-0000-4000-8000-000000000001'");
    pair.refuse_draw_in_sql(tag, 1);
    return damage(fmt::format("UPDATE public.leaf_meta SET deployment = '{}'",
                              pair.model.tables.meta.deployment.text()));
  }
  pair.server().run("ALTER TABLE public.leaf_alloc DISABLE TRIGGER USER");
  damage("UPDATE public.leaf_alloc SET granted_by = granted_by || '0' WHERE biz_tag = '" + tag + "'");
  if (random.one_in(2)) {
    pair.model.durability = 3;
    const std::vector<std::size_t> without_granter{0, 1, 2, 3, 4, 5, 6, 8};
    pair.ask(&Sql::grant_segment, "grant_segment", {tag, std::int64_t{0}, std::int64_t{0}}, without_granter);
    pair.model.durability = 1;
  } else {
    pair.refuse_draw_in_sql(tag, 1);
  }
  damage(fmt::format("UPDATE public.leaf_alloc SET granted_by = '{}' WHERE biz_tag = '{}'",
                     pair.server().real_name(pair.model.here), tag));
  pair.server().run("ALTER TABLE public.leaf_alloc ENABLE TRIGGER USER");
}

/// Another server, which has the same rows or fewer.
void take_over(StorePair& pair) {
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
      if (random.one_in(2)) {
        name.timeline += 2;
      } else {
        ++name.system;  // with tables at the same place, as a dump that is restored puts them
      }
      break;
    case 5:  // a restart
      return pair.become(name, true);
    default:
      ++name.timeline;
  }
  pair.become(name, random.one_in(2) || name.system != model.here.system);
}

/// Rows are lost, or come from a backup.
void damage(StorePair& pair) {
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
void run(DisguisedPostgresql* server, std::uint64_t seeds, int steps, Compared& compared) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    StorePair pair(seed, compared, server);
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
      } else if (what < 92) {
        try_by_hand(pair);
      } else if (what < 93) {
        ask_of_changed_tables(pair);
        pair.compare_tables();
      } else if (server == nullptr) {
        pair.compare_tables();
      } else if (what < 94) {
        ask_without_durability(pair);
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
  DisguisedPostgresql server(begin_ms);
  run(&server, 120, 400, compared);  // how many draws are refused depends on shares that chance picks
  leaf::test::figure("store model/postgresql", compared.statements, "statements compared");
  leaf::test::figure("store model/postgresql", compared.left_out, "guards compared");
  CHECK(compared.refused_draws > 50);
  // Two copies of one state leave out different amounts.
  const auto drawn = compared.shares.size();
  std::ranges::sort(compared.shares);
  const auto repeated = std::ranges::unique(compared.shares);
  CHECK(drawn > 100);
  CHECK(std::ranges::ssize(repeated) * 20 < std::ssize(compared.shares));
}
