#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <regex>
#include <string>

#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "leaf/store.hpp"
#include "range/fetcher.hpp"
#include "range/own_ranges.hpp"
#include "support/error_of.hpp"
#include "support/guard_share.hpp"
#include "support/interloper.hpp"
#include "support/manual_clock.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/sql_session.hpp"
#include "support/standby.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::is_behind_guard;
using leaf::test::PostgresqlCluster;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;

namespace {

const leaf::TagName order("order");
constexpr std::int64_t step = 10;
constexpr std::int64_t guard = 100 * step;

/// A store in `url` with a tag, of which five IDs were granted.
void set_up(const std::string& url) {
  leaf::Store store({.url = url});
  store.migrate();
  store.add_tag({.name = order, .step = step, .start = {}, .limit = {}, .description = {}});
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
}

/// A name that leads to either of two stores, "one" and "other"; what is connected stays with the one before.
class TwoStoresOfOneName {
 public:
  TwoStoresOfOneName() {
    for (const std::string schema : {"one", "other"}) {
      SqlSession(url()).run("CREATE SCHEMA " + schema);
      lead_to(schema);
      set_up(url());
    }
  }
  std::string url() const { return database_.url(); }
  void lead_to(const std::string& schema) const {
    SqlSession(url()).run("ALTER DATABASE " + database_.name() + " SET search_path = " + schema);
  }

 private:
  TestDatabase database_;
};

class FiveAtATime final : public leaf::range::Granter {
 public:
  std::string name() const override { return order.str(); }
  std::string what() const override { return "five IDs"; }
  leaf::range::Granted grant(leaf::Store& store, const leaf::range::Filled&) const override {
    const leaf::Grant grant = store.grant(order, 5);
    return {.range = grant.range, .mark = 1, .store = grant.store, .origin = grant.incarnation, .record = {}};
  }
};

/// A store, and what a host remembers of it.
struct RememberedStore {
  RememberedStore() { set_up(database.url()); }
  leaf::Store open() const { return leaf::Store({.url = database.url(), .marks = marks}); }

  TestDatabase database;
  const leaf::test::TemporaryFolder folder;
  const std::shared_ptr<leaf::GrantMarks> marks =
      leaf::host_marks({.folder = (folder.path() / "run").string()});
};

std::string dump_of(const TestDatabase& database, std::vector<std::string> options = {}) {
  std::vector<std::string> command{leaf::test::postgresql_program("pg_dump"), "--no-owner", "--dbname",
                                   database.name()};
  command.insert(command.end(), options.begin(), options.end());
  return leaf::test::run(command);
}

void restore(const std::string& dump, const std::string& url) {
  leaf::test::run({leaf::test::postgresql_program("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1",
                   "--dbname", url},
                  dump);
}

/// What grants begin with in each of two copies that know nothing of each other.
void require_apart(const std::string& one, const std::string& other) {
  const leaf::Range first = leaf::Store({.url = one}).grant(order, 1).range;
  const leaf::Range second = leaf::Store({.url = other}).grant(order, 1).range;
  CHECK(is_behind_guard(first, 6, guard));
  CHECK(is_behind_guard(second, 6, guard));
  // The same number by chance: once in a million runs.
  CHECK(first.lo != second.lo);
}

}  // namespace

TEST_CASE("copies: two standbys that are promoted to the same timeline do not go on at the same ID") {
  PostgresqlCluster primary;
  set_up(primary.url());
  const auto one = leaf::test::lagging_standby(primary);
  const auto other = leaf::test::lagging_standby(primary);
  primary.stop(PostgresqlCluster::Stop::immediate);
  for (const auto& standby : {one.get(), other.get()}) SqlSession(standby->url()).run("SELECT pg_promote()");
  require_apart(one->url(), other->url());
  CHECK(leaf::Store({.url = one->url()}).health().timeline == 2);
  CHECK(leaf::Store({.url = other->url()}).health().timeline == 2);
}

TEST_CASE("copies: of two servers from copies of the same files, used on one host at once, one is refused") {
  PostgresqlCluster original;
  set_up(original.url());
  original.stop(PostgresqlCluster::Stop::fast);
  PostgresqlCluster copy(PostgresqlCluster::CopyOf{original});
  original.start();
  const leaf::test::TemporaryFolder folder;
  const auto marks = leaf::host_marks({.folder = (folder.path() / "run").string()});
  leaf::Store other({.url = copy.url(), .marks = marks});
  std::function<void()> interlope;
  const auto at_once = [&] {
    return leaf::Store({.url = original.url(),
                        .marks = std::make_shared<leaf::test::MarksWithInterloper>(marks, interlope)});
  };

  leaf::Range theirs;
  interlope = [&] { theirs = other.grant(order, 5).range; };
  CHECK(error_of([&] { at_once().grant(order, 5); }).code() == leaf::ErrorCode::refused);
  CHECK(theirs == leaf::Range{6, 11});

  interlope = [&] { CHECK(other.acquire_worker({.owner = "b"}).worker == 0); };
  CHECK(error_of([&] { at_once().acquire_worker({.owner = "a"}); }).code() == leaf::ErrorCode::refused);

  // A server that was started anew is the same store.
  original.stop(PostgresqlCluster::Stop::fast);
  original.start();
  leaf::Store again({.url = original.url(), .marks = marks});
  CHECK(again.grant(order, 5).range == leaf::Range{11, 16});
}

TEST_CASE("copies: a connection that is half a minute old is not trusted to lead where the name does") {
  const TwoStoresOfOneName stores;
  leaf::test::ManualClock clock;
  leaf::Store store({.url = stores.url(), .clock = &clock});
  const auto other = store.grant(order, 5).store;
  stores.lead_to("one");
  const std::string one = leaf::Store({.url = stores.url()}).identity().deployment;
  CHECK(one != other.deployment);
  CHECK(store.grant(order, 5).store == other);
  // What it tells of the name is believed for as long again as name_lasts: a minute in all.
  clock.advance(std::chrono::seconds(60) - leaf::range::name_lasts);
  CHECK(store.identity().deployment == one);
  const leaf::Grant granted = store.grant(order, 5);
  CHECK(granted.store.deployment == one);
  CHECK(granted.range == leaf::Range{6, 11});
}

TEST_CASE("copies: who is still connected to a former store does not lead its host back there") {
  const TwoStoresOfOneName stores;
  const leaf::test::TemporaryFolder folder;
  const leaf::HostOptions host{.folder = folder.path().string()};
  leaf::Store before({.url = stores.url()}), since({.url = stores.url()});
  const auto learn_from = [&](leaf::Store& store) {
    leaf::remember_store_name(stores.url(), host, store, leaf::Clock::real());
    return leaf::last_known_store(stores.url(), host).value().deployment;
  };
  const std::string other = learn_from(before);
  stores.lead_to("one");
  const std::string one = learn_from(since);
  CHECK(one != other);
  CHECK(before.identity().deployment == other);
  CHECK(learn_from(before) == one);
  CHECK(before.identity().deployment == one);
}

TEST_CASE("copies: a tag of one deployment is not held against what another one has granted") {
  // As behind a pooler that leads each statement to another server: it is another deployment from the
  // statement on that follows the refused grant and tells the identity.
  RememberedStore remembered;
  leaf::Store store = remembered.open();
  const leaf::StoreIdentity before = store.identity();
  remembered.open().update_tag(order, {.raise_to = 1000});
  CHECK(remembered.open().grant(order, 5).range == leaf::Range{1000, 1005});
  remembered.database.sql().run(
      "ALTER TABLE leaf_alloc DISABLE TRIGGER USER; UPDATE leaf_alloc SET max_id = 6;"
      "ALTER TABLE leaf_alloc ENABLE TRIGGER USER;"
      "ALTER FUNCTION leaf_server(oid) RENAME TO leaf_server_here; CREATE SEQUENCE times_asked;"
      "CREATE FUNCTION leaf_server(meta oid) RETURNS text LANGUAGE plpgsql AS $body$ BEGIN"
      " IF nextval('public.times_asked') = 2 THEN UPDATE public.leaf_meta SET deployment = "
      "gen_random_uuid(); END IF;"
      " RETURN public.leaf_server_here(meta); END $body$");
  const leaf::Grant granted = store.grant(order, 5);
  CHECK(granted.range == leaf::Range{6, 11});
  CHECK(granted.store.deployment != before.deployment);
}

TEST_CASE("copies: the layout of one deployment is not held against what was leased in another one") {
  RememberedStore remembered;
  leaf::Store store = remembered.open();
  store.acquire_worker({.owner = "a"});
  // As behind a pooler that leads the connection to another server from now on.
  const auto another = leaf::Layout::parse("41,2,20");
  remembered.database.sql().run(
      "ALTER TABLE leaf_worker DISABLE TRIGGER USER; ALTER TABLE leaf_meta DISABLE TRIGGER USER;"
      "DELETE FROM leaf_worker; UPDATE leaf_meta SET deployment = gen_random_uuid(), layout = '" +
      another.text() +
      "', layout_fixed = false, next_worker = 0;"
      "ALTER TABLE leaf_worker ENABLE TRIGGER USER; ALTER TABLE leaf_meta ENABLE TRIGGER USER");
  SUBCASE("by who compares the two") {
    store.check_layout();
  }
  SUBCASE("by who looks whether a worker is leased") {
    store.check_lease({.owner = "a"});
  }
  SUBCASE("by who leases one") {
    CHECK(store.acquire_worker({.owner = "a"}).layout == another);
  }
}

TEST_CASE("copies: a program without the host's buffer stays with where one of its connections leads it") {
  const TwoStoresOfOneName stores;
  const leaf::StoreOptions options{.url = stores.url()};
  leaf::range::Fetcher fetcher(options, {.timeout = options.timeout, .max_threads = 0, .on_failure = {}});
  leaf::range::OwnRanges ranges(std::make_unique<FiveAtATime>(), options, fetcher);
  leaf::Store before(options), since(options);
  ranges.fetch(before, /*is_awaited=*/true);
  const leaf::StoreIdentity other = ranges.granted_by();
  stores.lead_to("one");
  ranges.check_name(since);
  const leaf::StoreIdentity one = ranges.granted_by();
  CHECK(one != other);
  CHECK(before.identity() == other);
  SUBCASE("by a grant") {
    ranges.fetch(before, /*is_awaited=*/true);
  }
  SUBCASE("by an answer") {
    ranges.check_name(before);
  }
  CHECK(ranges.granted_by() == one);
  CHECK(before.identity() == one);
}

TEST_CASE("copies: one dump that is read into two databases does not go on at the same ID") {
  const TestDatabase original;
  set_up(original.url());
  const std::string dump = dump_of(original);
  TestDatabase one, other;
  restore(dump, one.name());
  restore(dump, other.name());
  require_apart(one.url(), other.url());

  // What was left out is kept for whoever has to find out what went twice.
  const auto left_out =
      one.sql().rows("SELECT left_out_from, left_out_to = max_id - last_grant FROM leaf_alloc");
  CHECK(left_out == SqlSession::Rows{{"6", "t"}});
}

TEST_CASE("copies: a copy renews no lease of the original, and says that it is a copy") {
  TestDatabase original, copy;
  set_up(original.url());
  leaf::Store store({.url = original.url()});
  const leaf::WorkerRequest request{.owner = "a"};
  leaf::WorkerLease lease = store.acquire_worker(request);
  restore(dump_of(original), copy.name());
  leaf::Store other({.url = copy.url()});
  CHECK(error_of([&] { other.renew_worker(lease, request); }).code() == leaf::ErrorCode::unavailable);
  CHECK(store.renew_worker(lease, request).begin == lease.end);
  // Its rows still name the original as who leased last.
  lease.store = {};
  CHECK(other.renew_worker(lease, request).store == other.identity());
}

TEST_CASE("copies: what is left out by chance takes all values, and has no pattern") {
  TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  store.add_tag({.name = order, .step = step, .start = {}, .limit = {}, .description = {}});
  const std::int64_t share = leaf::test::guard_share(guard);
  const int eighths = 8;
  int seen[eighths] = {};
  std::int64_t bits_set = 0, bits_clear = 0;
  std::int64_t from = 1;
  for (int i = 0; i < 200; ++i) {
    database.sql().run(
        "ALTER TABLE leaf_alloc DISABLE TRIGGER USER; UPDATE leaf_alloc SET granted_by = 'another';"
        "ALTER TABLE leaf_alloc ENABLE TRIGGER USER");
    const leaf::Range range = store.grant(order, 1).range;
    const std::int64_t by_chance = range.lo - from - guard;
    REQUIRE(by_chance >= 0);
    REQUIRE(by_chance <= share);
    ++seen[by_chance * eighths / (share + 1)];
    bits_set |= by_chance;
    bits_clear |= ~by_chance;
    from = range.hi;
  }
  for (const int times : seen) CHECK(times > 0);
  CHECK((bits_set & 0xFF) == 0xFF);
  CHECK((bits_clear & 0xFF) == 0xFF);
}

TEST_CASE("copies: a database that is made of another one, and takes its name, is another server") {
  TestDatabase original;
  set_up(original.url());
  const std::string name = original.name();
  SqlSession administrator("");
  administrator.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'");
  administrator.run("CREATE DATABASE " + name + "_copy TEMPLATE " + name);
  CHECK(leaf::Store({.url = original.url()}).grant(order, 500).range == leaf::Range{6, 506});
  administrator.run("DROP DATABASE " + name + " WITH (FORCE)");
  administrator.run("ALTER DATABASE " + name + "_copy RENAME TO " + name);
  leaf::Store after({.url = original.url()});
  CHECK(is_behind_guard(after.grant(order, 5).range, 6, guard));
  CHECK(error_of([&] { after.acquire_worker({.owner = "a"}); }).code() == leaf::ErrorCode::unavailable);
}

TEST_CASE("copies: a table of tags that is put back alone is noticed, and so is one without its triggers") {
  TestDatabase database;
  set_up(database.url());
  const std::string dump = dump_of(database, {"--clean", "--table=leaf_alloc"});
  leaf::Store open({.url = database.url()});
  CHECK(open.grant(order, 500).range == leaf::Range{6, 506});
  SUBCASE("with its triggers") {
    restore(dump, database.name());
    SUBCASE("on a connection that was open") {
      CHECK(is_behind_guard(open.grant(order, 5).range, 6, guard));
    }
    SUBCASE("on a new one") {
      CHECK(is_behind_guard(leaf::Store({.url = database.url()}).grant(order, 5).range, 6, guard));
    }
    SUBCASE("by Leaf's own servers") {
      database.sql().run("UPDATE leaf_alloc SET max_id = max_id + step");
      const std::int64_t begun = std::stoll(database.sql().value("SELECT max_id - step FROM leaf_alloc"));
      CHECK(is_behind_guard({begun, begun + step}, 6, guard));
    }
  }
  SUBCASE("without, in a table that was made by hand") {
    database.sql().run(
        "ALTER TABLE leaf_alloc RENAME TO leaf_old;"
        "CREATE TABLE leaf_alloc (LIKE leaf_old INCLUDING ALL);"
        "INSERT INTO leaf_alloc SELECT * FROM leaf_old;"
        "UPDATE leaf_alloc SET max_id = 6");
    const leaf::Error refused = error_of([&] { open.grant(order, 5); });
    CHECK(refused.code() == leaf::ErrorCode::refused);
    CHECK(std::string(refused.what()).find("leaf_alloc") != std::string::npos);
    CHECK(error_of([&] { leaf::Store({.url = database.url()}).grant_segment(order); }).code() ==
          leaf::ErrorCode::refused);
    // As the hint says.
    database.sql().run("DROP TABLE leaf_alloc; ALTER TABLE leaf_old RENAME TO leaf_alloc");
    CHECK(open.grant(order, 5).range == leaf::Range{506, 511});
  }
}

TEST_CASE("copies: a table that is restored beside the one in use, and then takes its place, is noticed") {
  TestDatabase database;
  set_up(database.url());
  SqlSession& sql = database.sql();
  std::string dump = dump_of(database, {"--schema=public"});
  dump = std::regex_replace(dump, std::regex("\\bpublic\\."), "copy.");
  dump = std::regex_replace(dump, std::regex("CREATE SCHEMA public;"), "CREATE SCHEMA copy;");
  restore(dump, database.name());
  leaf::Store copy({.url = database.url() + " options=-csearch_path=copy"});
  const std::int64_t from = copy.grant(order, 5).range.hi;
  leaf::Store store({.url = database.url()});
  CHECK(store.grant(order, 500).range == leaf::Range{6, 506});
  sql.run("DROP TABLE public.leaf_alloc; ALTER TABLE copy.leaf_alloc SET SCHEMA public");
  CHECK(is_behind_guard(leaf::Store({.url = database.url()}).grant(order, 5).range, from, guard));
}

TEST_CASE("copies: where the deployment's own table is put back alone, its failover is settled") {
  TestDatabase database;
  set_up(database.url());
  leaf::Store store({.url = database.url()});
  CHECK(store.grant(order, 5).range == leaf::Range{6, 11});
  const std::string dump = dump_of(database, {"--table=leaf_meta"});
  database.sql().run("DROP TABLE leaf_meta CASCADE");
  restore(dump, database.name());
  leaf::Store after({.url = database.url()});
  const leaf::Failover seen = after.failover();
  REQUIRE(seen.tags.size() == 1);
  SUBCASE("with the guard") {
    REQUIRE(after.settle_failover(seen, leaf::Commits::may_be_lost).size() == 1);
    CHECK(after.failover().tags.at(0).state == leaf::FailoverTag::State::left_out);
    CHECK(is_behind_guard(after.grant(order, 5).range, 11, guard));
  }
  SUBCASE("without") {
    REQUIRE(after.settle_failover(seen, leaf::Commits::all_there).size() == 1);
    CHECK(after.failover().tags.empty());
    CHECK(after.grant(order, 5).range == leaf::Range{11, 16});
  }
}

TEST_CASE("copies: a table of workers that is put back alone leases nobody a window that may run") {
  TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  leaf::WorkerRequest brief{.owner = "a"};
  brief.window = std::chrono::milliseconds(1);
  CHECK(store.acquire_worker(brief).worker == 0);
  const std::string dump = dump_of(database, {"--clean", "--table=leaf_worker"});
  leaf::WorkerLease lost;
  REQUIRE(leaf::test::wait_for([&] {
    lost = store.acquire_worker({.owner = "a"});
    return lost.worker == 0;
  }));
  restore(dump, database.name());
  for (const bool is_open : {true, false}) {
    CAPTURE(is_open);
    leaf::Store fresh({.url = database.url()});
    leaf::Store& after = is_open ? store : fresh;
    const leaf::Error error = error_of([&] { after.acquire_worker({.owner = "c"}); });
    CHECK(error.code() == leaf::ErrorCode::unavailable);
    CHECK(std::string(error.what()).find("no worker is leased until") != std::string::npos);
    CHECK(error_of([&] { after.acquire_worker({.owner = "c", .worker = lost.worker}); }).code() ==
          leaf::ErrorCode::unavailable);
  }
  CHECK(store.health().guard.value().leases_from >= lost.end);
}

TEST_CASE("copies: which server grants is asked again once it has started anew, whatever else is the same") {
  TestDatabase database;
  set_up(database.url());
  leaf::Store store({.url = database.url()});
  CHECK(store.grant(order, 5).range == leaf::Range{6, 11});
  // As in a copy by pg_upgrade, of which the name and the place of the table may be those of the original.
  database.sql().run(
      "ALTER TABLE leaf_alloc DISABLE TRIGGER USER;"
      "UPDATE leaf_alloc SET checked_as = replace(checked_as, granted_by, '7/1/5.6.7'), granted_by = "
      "'7/1/5.6.7',"
      " checked_since = checked_since - interval '1 day';"
      "ALTER TABLE leaf_alloc ENABLE TRIGGER USER");
  CHECK(is_behind_guard(store.grant(order, 5).range, 11, guard));
}

TEST_CASE("copies: no tag is added by hand that is not counted, so that a loss of it would be noticed") {
  TestDatabase database;
  set_up(database.url());
  const std::string insert = "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('by hand', 1, 10)";
  SqlSession other(database.url());
  other.run("BEGIN; SELECT FROM leaf_meta FOR UPDATE");
  CHECK_THROWS_WITH(database.sql().run("SET lock_timeout = 1; " + insert), doctest::Contains("lock timeout"));
  other.run("ROLLBACK");
  database.sql().run("RESET lock_timeout; " + insert);
  CHECK(database.sql().value("SELECT tags = (SELECT count(*) FROM leaf_alloc) FROM leaf_meta") == "t");
}

TEST_CASE("copies: rows that are put back into the tables of now are noticed") {
  TestDatabase database;
  set_up(database.url());
  leaf::Store store({.url = database.url()});
  leaf::WorkerRequest brief{.owner = "a"};
  brief.window = std::chrono::milliseconds(1);
  CHECK(store.acquire_worker(brief).worker == 0);
  const auto lose_and_put_back = [&](const std::string& rows, const std::string& dump) {
    database.sql().run("SET session_replication_role = replica; DELETE FROM " + rows);
    restore(dump, database.name());
  };
  SUBCASE("of tags") {
    SUBCASE("which were drawn from last") {}
    SUBCASE("which the server's clock says will be drawn from in an hour") {
      database.sql().run(
          "ALTER TABLE leaf_alloc DISABLE TRIGGER USER; UPDATE leaf_alloc SET update_time = now() + interval "
          "'1 hour';"
          "ALTER TABLE leaf_alloc ENABLE TRIGGER USER");
    }
    const std::string dump = dump_of(database, {"--data-only", "--table=leaf_alloc"});
    CHECK(store.grant(order, 500).range == leaf::Range{6, 506});
    lose_and_put_back("leaf_alloc", dump);
    CHECK(is_behind_guard(store.grant(order, 5).range, 6, guard));
  }
  for (const std::string table : {"leaf_worker", "leaf_meta"}) {
    SUBCASE(("of " + table).c_str()) {
      const std::string dump = dump_of(database, {"--data-only", "--table=" + table});
      leaf::WorkerLease lost;
      REQUIRE(leaf::test::wait_for([&] {
        lost = store.acquire_worker({.owner = "a"});
        return lost.worker == 0;
      }));
      // Others that were leased since keep the table from being empty meanwhile.
      if (table == "leaf_worker") CHECK(store.acquire_worker({.owner = "b"}).worker == 1);
      lose_and_put_back(table == "leaf_worker" ? table + " WHERE worker_id = 0" : table, dump);
      CHECK(error_of([&] { store.acquire_worker({.owner = "c"}); }).code() == leaf::ErrorCode::unavailable);
      CHECK(store.health().guard.value().leases_from >= lost.end);
    }
  }
}

namespace {

/// For a store of a role that is no superuser, in a schema of its own.
struct Owned {
  std::string url() const {
    return database.url("user=" + role.name() + " password=right options='-c search_path=own'");
  }
  ~Owned() { database.sql().run("DROP OWNED BY " + role.name() + " CASCADE"); }

  const leaf::test::TestRole role{"LOGIN PASSWORD 'right'"};
  TestDatabase database;
};

/// The statement that a hint has between quotes.
std::string statement_in(const std::string& hint) {
  const auto first = hint.find('\''), last = hint.rfind('\'');
  REQUIRE(first < last);
  return hint.substr(first + 1, last - first - 1);
}

}  // namespace

TEST_CASE_FIXTURE(
    Owned, "copies: whoever may not ask which server it is makes no store, and grants nothing unguarded") {
  const std::string revoke = "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC, " + role.name();
  database.sql().run(revoke + "; CREATE SCHEMA own AUTHORIZATION " + role.name());
  leaf::Store store({.url = url()});
  const auto is_refused = [&](const leaf::Error& error) {
    return error.code() == leaf::ErrorCode::refused &&
           error.hint() ==
               "as a superuser, run 'GRANT EXECUTE ON FUNCTION pg_control_system() TO " + role.name() + "'";
  };
  const leaf::Error error = error_of([&] { store.migrate(); });
  CHECK(is_refused(error));
  CHECK(database.sql().value("SELECT count(*) FROM pg_class WHERE relnamespace = 'own'::regnamespace") ==
        "0");
  database.sql().run(statement_in(error.hint()));
  set_up(url());
  CHECK(store.grant_segment(order).range == leaf::Range{6, 16});
  CHECK(store.health().guard);
  CHECK(store.health().guard_remedy.empty());
  const leaf::Failover seen = store.failover();

  // A right that is taken away later: what looks for a failover is refused, and so is what may come after
  // one.
  database.sql().run(revoke);
  CHECK(is_refused(error_of([&] { store.acquire_worker({.owner = "a"}); })));
  CHECK(is_refused(error_of([&] { store.failover(); })));
  CHECK(is_refused(error_of([&] { store.settle_failover(seen, leaf::Commits::may_be_lost); })));
  CHECK(is_refused(error_of([&] { store.add_tag({.name = leaf::TagName("new"), .step = 1}); })));
  database.sql().run(
      "ALTER TABLE own.leaf_alloc DISABLE TRIGGER USER;"
      "UPDATE own.leaf_alloc SET checked_since = now(), granted_by = 'another';"
      "ALTER TABLE own.leaf_alloc ENABLE TRIGGER USER");
  CHECK(is_refused(error_of([&] { leaf::Store({.url = url()}).grant(order, 1); })));
  const std::string remedy = store.health().guard_remedy;
  CHECK("as a superuser, run '" + remedy + "'" == error.hint());
  database.sql().run(remedy);
  CHECK(store.health().guard_remedy.empty());
  CHECK(is_behind_guard(store.grant(order, 1).range, 16, guard));
  CHECK(store.acquire_worker({.owner = "a"}).worker == 0);
}

TEST_CASE_FIXTURE(
    Owned, "copies: a database that cannot tell which server it is leaves nothing out, works, and says so") {
  database.sql().run("CREATE SCHEMA own AUTHORIZATION " + role.name());
  set_up(url());
  // As migrations leave it there.
  database.sql().run(
      "SET search_path = own;"
      "CREATE OR REPLACE FUNCTION leaf_server(meta oid) RETURNS text LANGUAGE sql AS 'SELECT NULL::text';"
      "CREATE OR REPLACE FUNCTION leaf_server(meta oid, alloc oid) RETURNS text LANGUAGE sql AS 'SELECT "
      "NULL::text';"
      "ALTER TABLE leaf_alloc DISABLE TRIGGER USER; ALTER TABLE leaf_meta DISABLE TRIGGER USER;"
      "UPDATE leaf_alloc SET granted_by = NULL; UPDATE leaf_meta SET granted_by = NULL;"
      "ALTER TABLE leaf_alloc ENABLE TRIGGER USER; ALTER TABLE leaf_meta ENABLE TRIGGER USER; RESET "
      "search_path");
  leaf::Store store({.url = url()});
  CHECK(store.grant_segment(order).range == leaf::Range{6, 16});
  CHECK(store.update_tag(order, {.raise_to = 100}).next_id == 100);
  CHECK(store.acquire_worker({.owner = "a"}).worker == 0);
  CHECK(store.acquire_worker({.owner = "b"}).worker == 1);
  CHECK_FALSE(store.health().guard);
  CHECK(store.failover().server.empty());
  const leaf::Error error =
      error_of([&] { store.settle_failover(store.failover(), leaf::Commits::may_be_lost); });
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(std::string(error.what()).starts_with("the database does not tell which server it is"));
}

TEST_CASE("copies: a store that is brought up from the version before leaves nothing out for that") {
  TestDatabase database;
  const std::string script = leaf::Store({.url = database.url()}).migration_script();
  const std::size_t fourth = script.find("\n-- migration 4:");
  REQUIRE(fourth != std::string::npos);
  SqlSession& administrator = database.sql();
  administrator.run(script.substr(0, fourth) + "\nCOMMIT;");
  administrator.run(
      "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('order', 10), ('other', 10), ('twice', 10);"
      "INSERT INTO leaf_worker VALUES (0, 'a', gen_random_uuid(), 0, 0, 0, 0)");
  administrator.run(
      "ALTER TABLE leaf_alloc DISABLE TRIGGER USER;"
      "UPDATE leaf_alloc SET granted_by = '1/1/2' WHERE biz_tag = 'other';"
      "UPDATE leaf_alloc SET granted_by = split_part(granted_by, '/', 1) || '/-1/' || split_part(granted_by, "
      "'/', 3)"
      " WHERE biz_tag = 'twice';"
      "ALTER TABLE leaf_alloc ENABLE TRIGGER USER");
  leaf::Store store({.url = database.url()});
  CHECK_FALSE(store.migrate().empty());
  CHECK(store.health().guard.value().tags_ahead == 2);
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
  CHECK(store.acquire_worker({.owner = "b"}).worker >= 0);
  CHECK(is_behind_guard(store.grant(leaf::TagName("other"), 5).range, 1, guard));
  // Two servers in between, each of which may have left out as much.
  CHECK(is_behind_guard(store.grant(leaf::TagName("twice"), 5).range,
                        1 + guard + leaf::test::guard_share(guard), guard));
}

namespace {

/// As if another server, `servers` timelines ago, had changed all tags last; `table`: what its table's number
/// had behind that of this one.
void hand_over(leaf::test::TestDatabase& database, int servers, const std::string& table = "") {
  database.sql().run(
      "ALTER TABLE leaf_alloc DISABLE TRIGGER USER;"
      "UPDATE leaf_alloc SET granted_by = split_part(granted_by, '/', 1) || '/' || split_part(granted_by, "
      "'/', "
      "2)::integer - " +
      std::to_string(servers) + " || '/' || split_part(granted_by, '/', 3) || '" + table +
      "';"
      "ALTER TABLE leaf_alloc ENABLE TRIGGER USER");
}

}  // namespace

TEST_CASE("copies: a limit that comes first after two failovers takes nothing from what is left out") {
  leaf::test::TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  store.add_tag({.name = order, .step = step, .start = {}, .limit = {}, .description = {}});
  hand_over(database, 2);
  // The server in between knew of no limit, and may have granted past these.
  CHECK(leaf::test::error_code([&] { store.update_tag(order, {.limit = 400'000}); }) ==
        leaf::ErrorCode::refused);
  store.update_tag(order, {.limit = 2'000'000});
  CHECK(store.grant(order, 5).range.lo >= 1 + 2 * guard + leaf::test::guard_share(guard));
}

TEST_CASE("copies: a smaller step that comes first after a failover takes nothing from what is left out") {
  leaf::test::TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  store.add_tag({.name = order, .step = 1'000'000, .start = {}, .limit = {}, .description = {}});
  hand_over(database, 1);
  store.update_tag(order, {.step = 1});
  CHECK(store.grant(order, 5).range.lo >= 1 + 100 * 1'000'000);
}

TEST_CASE("copies: a restore after a failover leaves out what the server in between may have granted") {
  leaf::test::TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  store.add_tag({.name = order, .step = step, .start = {}, .limit = {}, .description = {}});
  hand_over(database, 1, "0");
  CHECK(store.grant(order, 5).range.lo >= 1 + 2 * guard + leaf::test::guard_share(guard));
}

TEST_CASE(
    "copies: a failover after a restore into another system leaves out what the restored store granted") {
  PostgresqlCluster primary;
  set_up(primary.url());
  // The rows come from a server of another system.
  SqlSession(primary.url())
      .run(
          "ALTER TABLE leaf_alloc DISABLE TRIGGER USER;"
          "UPDATE leaf_alloc SET granted_by = regexp_replace(granted_by, '^[0-9]+/[0-9]+', '1/7');"
          "ALTER TABLE leaf_alloc ENABLE TRIGGER USER");
  const auto standby = leaf::test::lagging_standby(primary);
  CHECK(is_behind_guard(leaf::Store({.url = primary.url()}).grant(order, 5).range, 6, guard));
  primary.stop(PostgresqlCluster::Stop::immediate);
  SqlSession(standby->url()).run("SELECT pg_promote()");
  const leaf::Range first = leaf::Store({.url = standby->url()}).grant(order, 5).range;
  CHECK(first.lo >= 6 + 2 * guard + leaf::test::guard_share(guard));
}

TEST_CASE("copies: the limit of a removed tag takes nothing from what is left out") {
  leaf::test::TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  store.add_tag({.name = order, .step = step, .start = {}, .limit = 50, .description = {}});
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
  store.remove_tag(order);
  hand_over(database, 1);
  // The server before may have had the tag added again, without a limit, and granted on.
  store.settle_failover(store.failover(), leaf::Commits::may_be_lost);
  store.add_tag({.name = order, .step = step, .start = {}, .limit = {}, .description = {}});
  CHECK(is_behind_guard(store.grant(order, 5).range, 6, guard));
}
