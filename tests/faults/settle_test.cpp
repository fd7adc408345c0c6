#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/guard_share.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/sql_session.hpp"
#include "support/standby.hpp"
#include "support/worker_request.hpp"

using leaf::Commits;
using leaf::test::error_of;
using leaf::test::is_behind_guard;
using leaf::test::lagging_standby;
using leaf::test::PostgresqlCluster;
using leaf::test::proposes;
using leaf::test::request_of;
using leaf::test::SqlSession;
using leaf::test::wait_until_replayed;
using State = leaf::FailoverTag::State;

namespace {

const leaf::TagName order("order");
const leaf::TagName idle("idle");
const leaf::TagName limited("limited");
constexpr std::int64_t step = 10;
constexpr std::int64_t guard = 100 * step;

/// A primary whose store has given out 10 IDs of one tag, and a worker.
struct Primary {
  Primary() {
    store.migrate();
    for (const leaf::TagName& tag : {order, idle}) store.add_tag({.name = tag, .step = step});
    store.add_tag({.name = limited, .step = step, .limit = 500});
    CHECK(store.grant(order, 10).range == leaf::Range{1, 11});
    held = store.acquire_worker(request_of("held"));
  }

  PostgresqlCluster cluster;
  leaf::Store store{{.url = cluster.url()}};
  leaf::WorkerLease held;
};

State state_of(const std::vector<leaf::FailoverTag>& tags, const leaf::TagName& name) {
  const auto found = std::ranges::find(tags, name.str(), &leaf::FailoverTag::name);
  REQUIRE(found != tags.end());
  return found->state;
}

/// In good order: nothing is lost.
void switch_over(Primary& primary, PostgresqlCluster& standby) {
  wait_until_replayed(primary.cluster, standby);
  primary.cluster.stop(PostgresqlCluster::Stop::fast);
  SqlSession(standby.url()).run("SELECT pg_promote()");
}

}  // namespace

TEST_CASE_FIXTURE(Primary, "settle: where nothing has changed nothing waits, and nothing is done") {
  const leaf::Failover found = store.failover();
  CHECK(found.tags.empty());
  CHECK_FALSE(found.leases_wait);
  CHECK(store.settle_failover(found, Commits::may_be_lost).empty());
  CHECK(store.grant(order, 1).range == leaf::Range{11, 12});
  CHECK(store.acquire_worker(request_of("other")).worker == 1);
}

TEST_CASE_FIXTURE(Primary, "settle: after a switchover that lost nothing all goes on at once") {
  PostgresqlCluster standby(PostgresqlCluster::StandbyOf{cluster});
  store.add_tag({.name = leaf::TagName("gone"), .step = step});
  store.remove_tag(leaf::TagName("gone"));
  switch_over(*this, standby);
  leaf::Store after({.url = standby.url()});
  CHECK(error_of([&] { after.acquire_worker(request_of("other")); }).code() == leaf::ErrorCode::unavailable);
  const leaf::Failover seen = after.failover();
  CHECK(seen.leases_wait);
  CHECK(seen.leases_from);
  CHECK(seen.tags.size() == 4);
  CHECK(std::ranges::count(seen.tags, true, &leaf::FailoverTag::is_removed) == 1);
  CHECK(state_of(seen.tags, idle) == State::waiting);
  CHECK(seen.tags[0].granted_by != seen.server);

  const auto settled = after.settle_failover(seen, Commits::all_there);
  CHECK(settled.size() == 3);
  CHECK(state_of(settled, limited) == State::kept);
  CHECK(after.failover().tags.empty());
  CHECK_FALSE(after.failover().leases_wait);
  CHECK(after.health().guard.value().tags_ahead == 0);

  CHECK(after.grant(order, 1).range == leaf::Range{11, 12});
  CHECK(after.grant(limited, 1).range == leaf::Range{1, 2});
  const leaf::WorkerLease next = after.acquire_worker(request_of("other"));
  CHECK(next.worker == 1);
  CHECK(after.renew_worker(held, request_of("held")).begin >= held.end);

  // The next failover is guarded as this one was.
  CHECK(after.guard_steps() == 100);
  const auto last = lagging_standby(standby);
  standby.stop(PostgresqlCluster::Stop::immediate);
  SqlSession(last->url()).run("SELECT pg_promote()");
  CHECK(is_behind_guard(leaf::Store({.url = last->url()}).grant(order, 1).range, 12, guard));
}

TEST_CASE_FIXTURE(Primary, "settle: a table without its triggers is not taken for settled") {
  SqlSession(cluster.url())
      .run("ALTER TABLE leaf_alloc DISABLE TRIGGER USER; UPDATE leaf_alloc SET granted_by = 'another'");
  for (const Commits commits : {Commits::may_be_lost, Commits::all_there}) {
    const leaf::Error error = error_of([&] { store.settle_failover(store.failover(), commits); });
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(std::string(error.what()).find("without its triggers") != std::string::npos);
  }
}

TEST_CASE_FIXTURE(Primary, "settle: a database that takes backslashes or names otherwise settles as any") {
  PostgresqlCluster standby(PostgresqlCluster::StandbyOf{cluster});
  switch_over(*this, standby);
  leaf::Store after({.url = standby.url() + " options='-c standard_conforming_strings=off"
                                            " -c quote_all_identifiers=on'"});
  CHECK(after.settle_failover(after.failover(), Commits::all_there).size() == 3);
  CHECK(after.failover().tags.empty());
  CHECK_FALSE(after.failover().leases_wait);
  CHECK(after.add_tag({.name = leaf::TagName("new")}).next_id == 1);
}

TEST_CASE_FIXTURE(Primary, "settle: where commits may be lost, every tag leaves out the guard at once") {
  const auto standby = lagging_standby(cluster);
  const leaf::Range lost = store.grant(order, 500).range;
  const leaf::WorkerLease lost_lease = store.acquire_worker(request_of("lost"));
  cluster.stop(PostgresqlCluster::Stop::immediate);
  SqlSession(standby->url()).run("SELECT pg_promote()");
  leaf::Store after({.url = standby->url()});

  const auto settled = after.settle_failover(after.failover(), Commits::may_be_lost);
  CHECK(state_of(settled, order) == State::left_out);
  CHECK(state_of(settled, idle) == State::left_out);
  CHECK(state_of(settled, limited) == State::no_room);
  const leaf::Failover now = after.failover();
  CHECK(state_of(now.tags, order) == State::left_out);
  CHECK(state_of(now.tags, limited) == State::waiting);
  CHECK(now.leases_from.value() >= lost_lease.end);
  CHECK(after.health().guard.value().tags_without_room == 1);
  CHECK(after.health().guard.value().tags_behind == 2);

  const leaf::Range first = after.grant(order, 10).range;
  CHECK(first.lo >= lost.hi);
  CHECK(is_behind_guard(first, 11, guard));
  CHECK(after.grant(order, 10).range.lo == first.hi);
  CHECK(error_of([&] { after.acquire_worker(request_of("other")); }).code() == leaf::ErrorCode::unavailable);
  CHECK(error_of([&] { after.grant(limited, 1); }).code() == leaf::ErrorCode::refused);

  // What was left out stays so; the rest, and workers, go on where they were, on the operator's word.
  const auto rest = after.settle_failover(after.failover(), Commits::all_there);
  CHECK(rest.size() == 1);
  CHECK(state_of(rest, limited) == State::kept);
  CHECK(after.grant(limited, 1).range == leaf::Range{1, 2});
  CHECK(after.grant(order, 10).range.lo == first.hi + 10);
  CHECK(after.acquire_worker(request_of("other")).worker == 1);
}

TEST_CASE_FIXTURE(Primary,
                  "settle: that the server before lost nothing says nothing of the one before that") {
  auto standby = lagging_standby(cluster);
  const leaf::Range lost = store.grant(limited, 5).range;
  const leaf::WorkerLease lost_lease = store.acquire_worker(request_of("lost"));
  cluster.stop(PostgresqlCluster::Stop::immediate);
  SqlSession(standby->url()).run("SELECT pg_promote()");
  leaf::Store between({.url = standby->url()});
  State expected = State::left_out;
  std::int64_t next_of_order = 0;
  SUBCASE("which was settled") {
    between.settle_failover(between.failover(), Commits::may_be_lost);
    next_of_order = between.grant(order, 10).range.hi;
    expected = State::kept;
  }
  SUBCASE("which only draws noticed") {
    next_of_order = between.grant(order, 10).range.hi;
    expected = State::kept;
  }
  SUBCASE("which only a lease noticed") {
    CHECK(error_of([&] { between.acquire_worker(request_of("other")); }).code() ==
          leaf::ErrorCode::unavailable);
  }
  SUBCASE("which nobody noticed") {}

  PostgresqlCluster last(PostgresqlCluster::StandbyOf{*standby});
  wait_until_replayed(*standby, last);
  standby->stop(PostgresqlCluster::Stop::fast);
  SqlSession(last.url()).run("SELECT pg_promote()");
  leaf::Store after({.url = last.url()});
  auto settled = after.settle_failover(after.failover(), Commits::all_there);
  CHECK(state_of(settled, limited) == State::no_room);
  CHECK(state_of(settled, order) == expected);
  CHECK(after.grant(order, 10).range.lo >= next_of_order);
  CHECK(error_of([&] { after.grant(limited, 1); }).code() == leaf::ErrorCode::refused);
  CHECK(after.failover().leases_from.value() >= lost_lease.end);
  CHECK(error_of([&] { after.acquire_worker(request_of("other")); }).code() == leaf::ErrorCode::unavailable);
  CHECK(after.guard_steps() == 100);
  // To say it twice says no more.
  settled = after.settle_failover(after.failover(), Commits::all_there);
  CHECK(state_of(settled, limited) == State::no_room);
  CHECK(after.failover().leases_from.value() >= lost_lease.end);

  // As who knows of all servers what happened, and would take a repeat upon himself.
  settled = after.settle_failover(after.failover(), Commits::all_there_on_every_server);
  CHECK(state_of(settled, limited) == State::kept);
  CHECK(after.grant(limited, 5).range == lost);
  CHECK(after.acquire_worker(request_of("other")).worker == lost_lease.worker);
  CHECK(after.guard_steps() == 100);
}

TEST_CASE_FIXTURE(Primary,
                  "settle: that the server before lost nothing says nothing of what was restored there") {
  PostgresqlCluster standby(PostgresqlCluster::StandbyOf{cluster});
  // As in a dump of another server, from which nobody has drawn here.
  for (const std::string table : {"leaf_alloc", "leaf_meta"}) {
    SqlSession(cluster.url())
        .run("ALTER TABLE " + table + " DISABLE TRIGGER USER; UPDATE " + table +
             " SET granted_by = '7/1/5.6.7'; ALTER TABLE " + table + " ENABLE TRIGGER USER");
  }
  bool is_said = false;
  std::string url = cluster.url();
  SUBCASE("if another server took over since") {
    switch_over(*this, standby);
    url = standby.url();
  }
  SUBCASE("but of what was restored here") {
    is_said = true;
  }
  leaf::Store after({.url = url});
  const auto settled = after.settle_failover(after.failover(), Commits::all_there);
  CHECK(state_of(settled, order) == (is_said ? State::kept : State::left_out));
  CHECK(state_of(settled, limited) == (is_said ? State::kept : State::no_room));
  CHECK(after.failover().leases_wait == !is_said);
}

TEST_CASE_FIXTURE(Primary,
                  "settle: where rows do not agree on the server before, none is believed to be that") {
  SqlSession administrator(cluster.url());
  const std::string here = administrator.value("SELECT granted_by FROM leaf_alloc WHERE biz_tag = 'order'");
  const std::string beside = here.substr(0, here.rfind('/') + 1);
  const auto name_before = [&](const leaf::TagName& tag, const std::string& name) {
    administrator.run("ALTER TABLE leaf_alloc DISABLE TRIGGER USER; UPDATE leaf_alloc SET granted_by = '" +
                      name + "' WHERE biz_tag = '" + tag.str() +
                      "'; ALTER TABLE leaf_alloc ENABLE TRIGGER USER");
  };
  name_before(order, beside + "5.6.7");
  bool is_said = false;
  SUBCASE("as two restores beside the tables") {
    name_before(limited, beside + "5.6.8");
  }
  SUBCASE("but one") {
    name_before(limited, beside + "5.6.7");
    is_said = true;
  }
  const auto settled = store.settle_failover(store.failover(), Commits::all_there);
  CHECK(state_of(settled, order) == (is_said ? State::kept : State::left_out));
  CHECK(state_of(settled, limited) == (is_said ? State::kept : State::no_room));
}

TEST_CASE_FIXTURE(Primary,
                  "settle: that the server before lost nothing says nothing of rows that were put back") {
  PostgresqlCluster standby(PostgresqlCluster::StandbyOf{cluster});
  SqlSession administrator(cluster.url());
  const leaf::WorkerLease first = store.acquire_worker(request_of("lost"));
  administrator.run("CREATE TABLE saved AS SELECT * FROM leaf_worker WHERE owner = 'lost'");
  const leaf::WorkerLease lost_lease = store.renew_worker(first, request_of("lost"));
  administrator.run(
      "ALTER TABLE leaf_worker DISABLE TRIGGER USER; DELETE FROM leaf_worker WHERE owner = 'lost';"
      "ALTER TABLE leaf_worker ENABLE TRIGGER USER; INSERT INTO leaf_worker SELECT * FROM saved");
  std::string url = cluster.url();
  SUBCASE("and then another server took over") {
    switch_over(*this, standby);
    url = standby.url();
  }
  SUBCASE("where no other one did") {}
  leaf::Store after({.url = url});
  after.settle_failover(after.failover(), Commits::all_there);
  CHECK(after.failover().leases_from.value() >= lost_lease.end);
  CHECK(error_of([&] { after.acquire_worker(request_of("other")); }).code() == leaf::ErrorCode::unavailable);
  CHECK(after.grant(order, 1).range == leaf::Range{11, 12});
}

TEST_CASE_FIXTURE(Primary, "settle: what was decided of one server is not done to another") {
  PostgresqlCluster standby(PostgresqlCluster::StandbyOf{cluster});
  const leaf::Failover seen = store.failover();
  switch_over(*this, standby);
  leaf::Store after({.url = standby.url()});
  const leaf::Error error = error_of([&] { after.settle_failover(seen, Commits::all_there); });
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(proposes(error, {.kind = leaf::Remedy::Kind::look_at_failover}));
  CHECK(after.health().guard.value().tags_ahead == 3);
  CHECK(after.failover().leases_wait);
  // As the hint says.
  CHECK_NOTHROW(after.settle_failover(after.failover(), Commits::all_there));
  CHECK(after.health().guard.value().tags_ahead == 0);
}

TEST_CASE_FIXTURE(Primary, "settle: nothing is told of a store that has lost what it is") {
  store.failover();
  SqlSession(cluster.url()).run("ALTER TABLE leaf_meta DISABLE TRIGGER USER; DELETE FROM leaf_meta");
  const leaf::Error error = error_of([&] { store.failover(); });
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(std::string(error.what()).find("table 'leaf_meta' has lost its row") == 0);
}

TEST_CASE_FIXTURE(Primary, "settle: a runtime role decides nothing") {
  SqlSession(cluster.url()).run("CREATE ROLE shop LOGIN");
  store.grant_runtime_role("shop");
  leaf::Store shop({.url = cluster.url() + " user=shop"});
  const leaf::Failover seen = shop.failover();
  for (const Commits commits : {Commits::may_be_lost, Commits::all_there})
    CHECK(error_of([&] { shop.settle_failover(seen, commits); }).code() == leaf::ErrorCode::usage);
}
