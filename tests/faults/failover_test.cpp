#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/guard_share.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/sql_session.hpp"
#include "support/standby.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"
#include "support/worker_request.hpp"

using leaf::test::error_of;
using leaf::test::is_behind_guard;
using leaf::test::lagging_standby;
using leaf::test::PostgresqlCluster;
using leaf::test::proposes;
using leaf::test::request_of;
using leaf::test::SqlSession;

namespace {

const leaf::TagName order("order");
constexpr std::int64_t step = 10;
constexpr std::int64_t guard = 100 * step;

void add_tag(leaf::Store& store, const std::string& name, std::optional<std::int64_t> limit = {}) {
  store.add_tag({.name = leaf::TagName(name), .step = step, .start = {}, .limit = limit, .description = {}});
}

/// A primary with an empty store, and a standby that falls behind.
class LaggingStandby {
 public:
  LaggingStandby() { leaf::Store({.url = primary_.url()}).migrate(); }

  PostgresqlCluster& primary() { return primary_; }
  PostgresqlCluster& standby() { return *standby_; }

  /// What is committed on the primary from here on is lost.
  void cut_off() { standby_ = lagging_standby(primary_); }

  /// The primary is gone, and the standby takes its place.
  void fail_over() {
    primary_.stop(PostgresqlCluster::Stop::immediate);
    SqlSession(standby_->url()).run("SELECT pg_promote()");
  }

 private:
  PostgresqlCluster primary_;
  std::unique_ptr<PostgresqlCluster> standby_;
};

}  // namespace

TEST_CASE("failover: what a lagging standby does not know of is left out, once for each tag") {
  LaggingStandby pair;
  leaf::Store before({.url = pair.primary().url()});
  for (const char* name : {"order", "bulk", "leaf", "changed", "few"}) add_tag(before, name);
  for (const char* name : {"limited", "removed", "decided"}) add_tag(before, name, 1000);
  CHECK(before.grant_segment(order).range == leaf::Range{1, 11});
  pair.cut_off();
  std::int64_t given = 0;
  for (int i = 0; i < 50; ++i) given = before.grant_segment(order).range.hi;
  CHECK(given == 511);
  pair.fail_over();
  leaf::Store after({.url = pair.standby().url()});

  CHECK(after.health().guard.value().steps == 100);
  CHECK(after.health().guard.value().tags_ahead == 8);
  const leaf::Range first = after.grant_segment(order).range;
  CHECK(is_behind_guard(first, 11, guard));
  CHECK(after.grant_segment(order).range == leaf::Range{first.lo + step, first.hi + step});
  CHECK(after.health().guard.value().tags_ahead == 7);

  // A grant of more IDs than a step leaves out as many times those.
  CHECK(is_behind_guard(after.grant(leaf::TagName("bulk"), 100'000).range, 1, std::int64_t{100} * 100'000));

  // Leaf's own servers know nothing of it.
  SqlSession leaf(pair.standby().url());
  leaf.run("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'leaf'");
  const std::int64_t begun =
      std::stoll(leaf.value("SELECT max_id - step FROM leaf_alloc WHERE biz_tag = 'leaf'"));
  CHECK(is_behind_guard({begun, begun + step}, 1, guard));
  CHECK(after.grant(leaf::TagName("leaf"), 5).range.lo == begun + step);

  const leaf::TagName changed("changed");
  after.update_tag(changed, {.description = "shop"});
  CHECK(is_behind_guard(after.grant(changed, 5).range, 1, guard));

  // One that does not fit below the limit is refused until somebody decides.
  const leaf::TagName limited("limited");
  const leaf::Error error = error_of([&] { after.grant(limited, 5); });
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(std::string(error.what()).find("the guard of 1000 IDs goes past its limit") != std::string::npos);
  CHECK(proposes(error, {.kind = leaf::Remedy::Kind::settle_failover}));
  CHECK(after.tag(limited).next_id == 1);
  const leaf::TagName removed("removed");
  after.remove_tag(removed);
  CHECK(error_of([&] { after.tag(removed); }).code() == leaf::ErrorCode::not_found);
  after.update_tag(limited, {.limit = 2000});
  // By chance it leaves out no more than an eighth of what is left.
  const std::int64_t limited_begin = after.grant(limited, 5).range.lo;
  CHECK(limited_begin >= 1 + guard);
  CHECK(limited_begin <= 1 + guard + 2000 / 8);

  after.set_guard_steps(3);
  CHECK(is_behind_guard(after.grant(leaf::TagName("few"), 5).range, 1, 3 * step));
  after.set_guard_steps(0);
  const leaf::TagName decided("decided");
  CHECK(after.grant(decided, 5).range.lo == 1);
  after.set_guard_steps(100);
  CHECK(after.grant(decided, 5).range.lo == 6);
}

TEST_CASE("failover: a server that only stopped or crashed leaves nothing out") {
  PostgresqlCluster cluster;
  leaf::Store store({.url = cluster.url()});
  store.migrate();
  add_tag(store, "order");
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
  cluster.stop(PostgresqlCluster::Stop::fast);
  cluster.start();
  CHECK(store.grant(order, 5).range == leaf::Range{6, 11});
  cluster.stop(PostgresqlCluster::Stop::immediate);
  cluster.start();
  CHECK(store.grant(order, 5).range == leaf::Range{11, 16});
  CHECK(store.acquire_worker(request_of("a")).worker == 0);
}

TEST_CASE("restore: a dump that is read into another server leaves out what may have been granted since") {
  leaf::test::TestDatabase original;
  leaf::Store before({.url = original.url()});
  before.migrate();
  add_tag(before, "order");
  CHECK(before.grant(order, 5).range == leaf::Range{1, 6});
  const std::string dump = leaf::test::run({leaf::test::postgresql_program("pg_dump"), "--no-owner",
                                            "--no-privileges", "--dbname", original.name()});
  CHECK(before.grant(order, 500).range.hi == 506);

  PostgresqlCluster other;
  leaf::test::run({leaf::test::postgresql_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1",
                   "--dbname", other.url()},
                  dump);
  leaf::Store after({.url = other.url()});
  CHECK(is_behind_guard(after.grant(order, 5).range, 6, guard));
}

TEST_CASE("failover: no worker is leased anew while a window may run that the new server knows nothing of") {
  LaggingStandby pair;
  leaf::Store before({.url = pair.primary().url()});
  const leaf::WorkerLease kept = before.acquire_worker(request_of("kept"));
  pair.cut_off();
  const leaf::WorkerLease lost = before.acquire_worker(request_of("lost"));
  CHECK(lost.worker == 1);
  const leaf::WorkerLease lost_renewal = before.renew_worker(lost, request_of("lost"));
  pair.fail_over();

  leaf::Store after({.url = pair.standby().url()});
  CHECK_FALSE(after.health().guard.value().leases_from);  // nobody has asked yet
  for (const bool is_pinned : {false, true}) {
    CAPTURE(is_pinned);
    leaf::WorkerRequest request = request_of("other");
    if (is_pinned) request.worker = lost.worker;
    const leaf::Error error = error_of([&] { after.acquire_worker(request); });
    CHECK(error.code() == leaf::ErrorCode::unavailable);
    CHECK(std::string(error.what()).find("no worker is leased until") != std::string::npos);
  }
  CHECK(after.workers().size() == 1);
  CHECK(after.health().guard.value().leases_from >= lost_renewal.end);

  // Its holder goes on: the window begins where its own last one ends.
  const leaf::WorkerLease renewed = after.renew_worker(kept, request_of("kept"));
  CHECK(renewed.worker == 0);
  CHECK(renewed.begin >= kept.end);

  // What the time that passes would do.
  SqlSession administrator(pair.standby().url());
  administrator.run("UPDATE leaf_meta SET leases_from = " +
                    std::to_string(lost.begin.time_since_epoch().count()));
  CHECK(after.acquire_worker(request_of("other")).worker == 1);
}

TEST_CASE("failover: where no worker was ever leased, leases wait for 20 minutes") {
  LaggingStandby pair;
  pair.cut_off();
  pair.fail_over();
  leaf::Store after({.url = pair.standby().url()});
  CHECK(error_of([&] { after.acquire_worker(request_of("a")); }).code() == leaf::ErrorCode::unavailable);
  // In whole milliseconds, as it is told.
  const auto wait = after.health().guard.value().leases_from.value() -
                    std::chrono::ceil<std::chrono::milliseconds>(std::chrono::system_clock::now());
  CHECK(wait > std::chrono::minutes(19));
  CHECK(wait <= std::chrono::minutes(20));
}

namespace {

/// As if another server had leased last, and then what `statements` do. With the clock of this one an hour
/// behind, what that server wrote lies as far ahead.
void take_over(leaf::test::TestDatabase& database, const std::string& statements) {
  database.sql().run(
      "ALTER TABLE leaf_meta DISABLE TRIGGER USER; ALTER TABLE leaf_worker DISABLE TRIGGER USER;"
      "UPDATE leaf_meta SET granted_by = 'another';" +
      statements + ";ALTER TABLE leaf_meta ENABLE TRIGGER USER; ALTER TABLE leaf_worker ENABLE TRIGGER USER");
}

constexpr std::chrono::milliseconds ahead = std::chrono::hours(1);

}  // namespace

TEST_CASE("failover: while the new server's clock is behind, the wait goes by the newest lease") {
  for (const bool by_settling : {false, true}) {
    CAPTURE(by_settling);
    leaf::test::TestDatabase database;
    leaf::Store store({.url = database.url()});
    store.migrate();
    add_tag(store, "order");
    const leaf::WorkerLease held = store.acquire_worker(request_of("held"));
    take_over(database,
              "UPDATE leaf_worker SET renewed_at = renewed_at + 3600000, window_end = window_end + 3600000");
    if (by_settling) store.settle_failover(store.failover(), leaf::Commits::may_be_lost);
    const leaf::Error error = error_of([&] { store.acquire_worker(request_of("other")); });
    CHECK(error.code() == leaf::ErrorCode::unavailable);
    CHECK(store.failover().leases_from.value() >= held.end + ahead + std::chrono::minutes(10));

    // Nobody is kept waiting who knows that nothing was lost.
    store.settle_failover(store.failover(), leaf::Commits::all_there);
    CHECK(store.acquire_worker(request_of("other")).worker == 1);
  }
}

TEST_CASE("failover: the wait is half as long again as the longest window, and two days at most") {
  leaf::test::TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  store.acquire_worker(request_of("held"));
  const auto wait_for_window_of = [&](std::chrono::hours window) {
    take_over(database,
              "UPDATE leaf_meta SET leases_from = 0; UPDATE leaf_worker SET window_end = renewed_at + " +
                  std::to_string(std::chrono::milliseconds(window).count()));
    const auto before = std::chrono::system_clock::now();
    CHECK(error_of([&] { store.acquire_worker(request_of("other")); }).code() ==
          leaf::ErrorCode::unavailable);
    return std::chrono::round<std::chrono::minutes>(store.failover().leases_from.value() - before);
  };
  CHECK(wait_for_window_of(std::chrono::hours(24)) == std::chrono::hours(36));
  CHECK(wait_for_window_of(std::chrono::hours(40)) == std::chrono::hours(48));
}

TEST_CASE("failover: a wait does not end earlier because another server, whose clock is behind, takes over") {
  leaf::test::TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  take_over(database, "UPDATE leaf_meta SET leases_from = extract(epoch FROM now()) * 1000 + 3600000");
  CHECK(error_of([&] { store.acquire_worker(request_of("a")); }).code() == leaf::ErrorCode::unavailable);
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  CHECK(store.failover().leases_from.value() > now + ahead - std::chrono::minutes(1));
  CHECK(store.failover().leases_from.value() <= now + ahead);
}

TEST_CASE("failover: where a clock was days ahead, whoever waits is told where to read the way out") {
  leaf::test::TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  store.acquire_worker(request_of("held"));
  take_over(
      database,
      "UPDATE leaf_worker SET renewed_at = renewed_at + 31536000000, window_end = window_end + 31536000000");
  const leaf::Error error = error_of([&] { store.acquire_worker(request_of("other")); });
  CHECK(std::string(error.what()).find("no worker is leased until") != std::string::npos);
  CHECK(error.hint().find("leafctl-failover(1)") != std::string::npos);
  CHECK(proposes(error, {.kind = leaf::Remedy::Kind::settle_failover}));
  // As it says there: tags leave out the guard, and after the wait of two days workers are leased on the
  // operator's word.
  store.settle_failover(store.failover(), leaf::Commits::may_be_lost);
  store.settle_failover(store.failover(), leaf::Commits::all_there);
  CHECK(store.acquire_worker(request_of("other")).worker == 1);
}

TEST_CASE(
    "failover: a lease that was over is not renewed while a lost commit may have given the worker away") {
  LaggingStandby pair;
  leaf::Store before({.url = pair.primary().url()});
  leaf::WorkerRequest brief = request_of("host");
  brief.window = std::chrono::milliseconds(10);
  const leaf::WorkerLease over = before.acquire_worker(brief);
  pair.cut_off();
  std::optional<leaf::WorkerLease> lost;
  REQUIRE(leaf::test::wait_for([&] {
    lost = before.acquire_worker(request_of("host"));
    return lost->worker == over.worker;
  }));
  pair.fail_over();

  leaf::Store after({.url = pair.standby().url()});
  CHECK(error_of([&] { after.renew_worker(over, brief); }).code() == leaf::ErrorCode::not_found);
  CHECK(error_of([&] { after.acquire_worker(brief); }).code() == leaf::ErrorCode::unavailable);
  SqlSession(pair.standby().url()).run("UPDATE leaf_meta SET leases_from = 0");
  CHECK(after.renew_worker(over, brief).worker == over.worker);
}

TEST_CASE("failover: a second one that lacks the first one's guard leaves out more") {
  LaggingStandby pair;
  leaf::Store first({.url = pair.primary().url()});
  add_tag(first, "order");
  CHECK(first.grant(order, 5).range == leaf::Range{1, 6});
  pair.cut_off();
  pair.fail_over();
  const auto last = lagging_standby(pair.standby());
  const leaf::Range lost = leaf::Store({.url = pair.standby().url()}).grant(order, 5).range;
  CHECK(is_behind_guard(lost, 6, guard));
  pair.standby().stop(PostgresqlCluster::Stop::immediate);
  SqlSession(last->url()).run("SELECT pg_promote()");
  // Whatever the first one left out by chance lies below.
  const leaf::Range range = leaf::Store({.url = last->url()}).grant(order, 5).range;
  CHECK(is_behind_guard(range, 6 + guard + leaf::test::guard_share(guard), guard));
  CHECK(range.lo >= lost.lo + guard);
}

TEST_CASE(
    "failover: no counter goes back by as much as the guard adds, and Leaf's role needs no more than its "
    "table") {
  LaggingStandby pair;
  leaf::Store before({.url = pair.primary().url()});
  add_tag(before, "order");
  before.grant(order, 50);
  SqlSession(pair.primary().url()).run("CREATE ROLE leaf; GRANT SELECT, UPDATE ON leaf_alloc TO leaf");
  pair.cut_off();
  pair.fail_over();

  SqlSession leaf(pair.standby().url());
  leaf.run("SET ROLE leaf");
  CHECK_THROWS(leaf.run("UPDATE leaf_alloc SET max_id = max_id - 50"));
  leaf.run("UPDATE leaf_alloc SET max_id = max_id + step");
  const std::int64_t begun = std::stoll(leaf.value("SELECT max_id - step FROM leaf_alloc"));
  CHECK(is_behind_guard({begun, begun + step}, 51, std::int64_t{100} * 50));
}

TEST_CASE("restore: a dump that is read into the same server leaves out what may have been granted since") {
  leaf::test::TestDatabase database;
  leaf::Store before({.url = database.url()});
  before.migrate();
  add_tag(before, "order");
  CHECK(before.grant(order, 5).range == leaf::Range{1, 6});
  const std::string dump = leaf::test::run(
      {leaf::test::postgresql_program("pg_dump"), "--clean", "--no-owner", "--dbname", database.name()});
  CHECK(before.grant(order, 5).range == leaf::Range{6, 11});

  leaf::test::run({leaf::test::postgresql_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1",
                   "--dbname", database.name()},
                  dump);
  leaf::Store after({.url = database.url()});
  CHECK(is_behind_guard(after.grant(order, 5).range, 6, guard));
  CHECK(error_of([&] { after.acquire_worker(request_of("a")); }).code() == leaf::ErrorCode::unavailable);
}

TEST_CASE("schema: the guard works wherever the tables lie, and runs nothing that others put beside them") {
  leaf::test::TestDatabase database;
  SqlSession administrator(database.url());
  administrator.run("CREATE SCHEMA \"MyIDs\"");
  leaf::Store({.url = database.url("options='-c search_path=\"MyIDs\"'")}).migrate();
  administrator.run("ALTER SCHEMA \"MyIDs\" RENAME TO ids");
  administrator.run(
      "CREATE FUNCTION ids.trap(bigint, text) RETURNS text LANGUAGE plpgsql AS"
      " $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;"
      "CREATE OPERATOR ids.|| (LEFTARG = bigint, RIGHTARG = text, FUNCTION = ids.trap)");

  leaf::Store store({.url = database.url("options='-c search_path=ids'")});
  add_tag(store, "order");
  CHECK(store.acquire_worker(request_of("a")).worker == 0);
  administrator.run(
      "ALTER TABLE ids.leaf_alloc DISABLE TRIGGER USER; ALTER TABLE ids.leaf_meta DISABLE TRIGGER USER;"
      "UPDATE ids.leaf_alloc SET granted_by = 'another'; UPDATE ids.leaf_meta SET granted_by = 'another';"
      "ALTER TABLE ids.leaf_alloc ENABLE TRIGGER USER; ALTER TABLE ids.leaf_meta ENABLE TRIGGER USER");
  CHECK(is_behind_guard(store.grant(order, 5).range, 1, guard));
  CHECK(error_of([&] { store.acquire_worker(request_of("b")); }).code() == leaf::ErrorCode::unavailable);
}
