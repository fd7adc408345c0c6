#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/health.hpp"
#include "leaf/store.hpp"
#include "leaf/tag_import.hpp"
#include "support/error_of.hpp"
#include "support/grant_audit.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/sql_verdict.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"

using leaf::test::error_of;
using leaf::test::patience;

namespace {

const leaf::TagName order("order");

void set_up(const std::string& url) {
  leaf::Store store({.url = url});
  store.migrate();
  store.add_tag({.name = order, .step = 10, .start = {}, .limit = {}, .description = {}});
}

/// Has commits wait for a standby of that name from now on; empty: for none.
void require_standby(leaf::test::SqlSession& administrator, const std::string& name) {
  administrator.run("ALTER SYSTEM SET synchronous_standby_names = '" + name + "'");
  administrator.run("SELECT pg_reload_conf()");
  REQUIRE(
      leaf::test::wait_for([&] { return administrator.value("SHOW synchronous_standby_names") == name; }));
}

/// Ends each wait for a standby by that function, until it is stopped.
std::jthread ending_waits(const std::string& url, const std::string& end_wait) {
  return std::jthread([=](std::stop_token stop) {
    leaf::test::SqlSession eyes(url);
    std::string last =
        "-infinity";  // each wait is ended once, or the second time would hit the next statement
    while (!stop.stop_requested()) {
      const auto ended = eyes.rows("SELECT " + end_wait +
                                       "(pid), query_start FROM pg_stat_activity"
                                       " WHERE wait_event = 'SyncRep' AND query_start > $1::timestamptz",
                                   {last});
      if (!ended.empty()) last = ended[0][1];
    }
  });
}

/// A tag whose grants meet `statement` at commit, when their row has already been sent.
struct AtCommit {
  AtCommit() {
    set_up(database.url());
    audit.emplace(database.url());
  }
  void strike(const std::string& statement) {
    // A sequence counts what rolls back, too.
    database.sql().run(fmt::format(
        "CREATE SEQUENCE nth; CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql SET search_path FROM "
        "CURRENT AS $body$"
        " DECLARE nth bigint := nextval('nth'); BEGIN {} RETURN NULL; END $body$;"
        "CREATE CONSTRAINT TRIGGER strike AFTER UPDATE ON leaf_alloc DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION strike()",
        statement));
  }

  leaf::test::TestDatabase database;
  leaf::Store store{{.url = database.url()}};
  std::optional<leaf::test::GrantAudit> audit;
};

}  // namespace

TEST_CASE_FIXTURE(AtCommit, "commit: nor behind a pooler, where the statement goes with another") {
  strike("IF nth = 1 THEN RAISE 'struck at commit'; END IF;");
  const leaf::test::Pgbouncer pgbouncer;
  leaf::Store pooled({.url = database.url(pgbouncer.parameters())});
  const leaf::Error error = error_of([&] { pooled.grant(order, 10); });
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(std::string(error.what()).find("struck at commit") != std::string::npos);
  CHECK(audit->committed("order") == 0);
  const leaf::Range range = pooled.grant(order, 10).range;
  CHECK(range == leaf::Range{1, 11});
  audit->given("order", range);
}

TEST_CASE_FIXTURE(AtCommit, "commit: a row that is followed by an error is not given out") {
  strike("IF nth = 1 THEN RAISE 'struck at commit'; END IF;");
  const leaf::Error error = error_of([&] { store.grant(order, 10); });
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(std::string(error.what()).find("struck at commit") != std::string::npos);
  CHECK(audit->committed("order") == 0);
  audit->given("order", store.grant(order, 10).range);
}

TEST_CASE_FIXTURE(AtCommit, "commit: a serialization failure there is tried again") {
  strike(
      "IF nth <= 3 THEN RAISE 'conflict' USING ERRCODE = CASE nth WHEN 2 THEN '40P01' ELSE '40001' END;"
      " END IF;");
  audit->given("order", store.grant(order, 10).range);
  CHECK(audit->committed("order") == 1);
  CHECK(audit->burnt("order") == 0);
}

TEST_CASE("commit: serialization failures without end are out of reach within the timeout") {
  AtCommit at_commit;
  at_commit.strike("RAISE 'conflict' USING ERRCODE = '40001';");
  leaf::Store store({.url = at_commit.database.url(), .timeout = std::chrono::milliseconds(500)});
  const leaf::Error error = error_of([&] { store.grant(order, 10); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  // The last attempt may have been cut short by the timeout itself.
  CHECK((error.sqlstate() == "40001" || error.sqlstate() == "57014"));
  CHECK(at_commit.database.sql().value("SELECT last_value > 1 FROM nth") == "t");
  // As the hint says, once they are out of the way.
  at_commit.database.sql().run("DROP TRIGGER strike ON leaf_alloc");
  store.set_timeout(patience);
  CHECK_NOTHROW(store.grant(order, 10));
}

TEST_CASE_FIXTURE(AtCommit, "commit: what may be over the next time is out of reach, and not a failure") {
  database.sql().run("CREATE TABLE struck (code text); INSERT INTO struck VALUES ('')");
  strike("RAISE 'struck' USING ERRCODE = (SELECT code FROM struck);");
  store.tags();
  store.set_timeout(std::chrono::milliseconds(0));
  // A conflict, a shortage, an end that somebody wants, and the server's own system.
  for (const std::string code :
       {"40001", "40P01", "55P03", "53000", "53200", "57000", "57P05", "58000", "58030"}) {
    CAPTURE(code);
    database.sql().run("UPDATE struck SET code = '" + code + "'");
    const leaf::Error error = error_of([&] { store.grant(order, 10); });
    CHECK(error.sqlstate() == code);
    CHECK(error.code() == leaf::ErrorCode::unavailable);
  }
  database.sql().run("UPDATE struck SET code = 'XX000'");
  CHECK(error_of([&] { store.grant(order, 10); }).code() != leaf::ErrorCode::unavailable);
}

TEST_CASE_FIXTURE(AtCommit, "commit: what the database refuses for is told by its code and its hint") {
  struct Row {
    const char* state;
    leaf::ErrorCode code;
    const char* hint;
  };
  using enum leaf::ErrorCode;
  const Row rows[] = {
      {"LF001", refused, "raise its limit, or go on with another tag"},
      {"LF003", refused, "find out the highest ID of the tag"},
      {"LF004", refused, "do this as the role that owns them"},
      {"LF006", refused, "look again"},
      {"LF007", refused, "see which workers are leased"},
      {"LF008", refused, ""},
      {"25P03", unavailable, "a timeout of the server or an administrator ended it"},
      {"42501", usage, "log in as the owner"},
      {"42P01", refused, "find out who moved, dropped or replaced it"},
      {"3F000", refused, "find out who moved, dropped or replaced it"},
      {"42703", refused, "find out who moved, dropped or replaced it"},
      {"42883", refused, "find out who moved or dropped it"},
      {"23505", refused, "remove the rows that have granted less"},
      {"23502", refused, "see what the table lacks"},
      {"23514", refused, "find out who has changed constraints or defaults"},
      {"42P10", refused, "see what the table lacks"},
      {"22P05", usage, "leave out what the database's encoding cannot write"},
      {"53100", unavailable, "free some space on the server's disk"},
      {"53300", unavailable, "let other sessions end"},
      {"54000", unavailable, "see which database must be vacuumed"},
      {"55000", unavailable, "name the primary"},
      {"55P03", unavailable, "try again; see who holds a lock"},
      {"58P01", unavailable, "look at the server"},
      {"22012", failed, ""},
  };
  // Named as the store's own: of a function of others it is said that this one fails.
  database.sql().run(
      "CREATE TABLE struck (code text); INSERT INTO struck VALUES ('');"
      "CREATE FUNCTION leaf_strike() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$"
      " BEGIN RAISE 'struck' USING ERRCODE = (SELECT code FROM struck); END $body$;"
      "CREATE TRIGGER strike BEFORE UPDATE ON leaf_alloc FOR EACH ROW EXECUTE FUNCTION leaf_strike()");
  store.tags();
  store.set_timeout(std::chrono::milliseconds(0));
  for (const Row& row : rows) {
    CAPTURE(row.state);
    database.sql().run(fmt::format("UPDATE struck SET code = '{}'", row.state));
    const leaf::Error error = error_of([&] { store.grant(order, 10); });
    CHECK(error.sqlstate() == row.state);
    CHECK(error.code() == row.code);
    CHECK(std::string(error.what()) == "the store refused: struck");
    CHECK(error.hint().starts_with(row.hint));
    CHECK(error.hint().empty() == std::string(row.hint).empty());
  }
}

TEST_CASE_FIXTURE(AtCommit, "commit: a warning burns the range, and the next one is given out") {
  strike("IF nth = 1 THEN RAISE WARNING 'not so sure'; END IF;");
  audit->given("order", store.grant(order, 10).range);
  CHECK(audit->committed("order") == 2);
  CHECK(audit->burnt("order") == 10);
}

TEST_CASE_FIXTURE(AtCommit, "commit: warnings without end give nothing out, after a few attempts") {
  strike("RAISE WARNING 'not so sure';");
  for (int call = 1; call <= 2; ++call) {
    const leaf::Error error = error_of([&] { store.grant_segment(order); });
    CHECK(error.code() == leaf::ErrorCode::unavailable);
    CHECK(error.sqlstate() == "01000");
    CHECK(std::string(error.what()) == "the store warned: not so sure");
  }
  CHECK(audit->committed("order") <= 10);
}

TEST_CASE_FIXTURE(AtCommit, "commit: a notice is no warning") {
  strike("RAISE NOTICE 'by the way'; RAISE INFO 'indeed';");
  audit->given("order", store.grant(order, 10).range);
  CHECK(audit->burnt("order") == 0);
}

TEST_CASE("commit: a role that keeps warnings from the client is refused") {
  leaf::test::TestDatabase database;
  set_up(database.url());
  leaf::Store store({.url = database.url("options='-c client_min_messages=error'")});
  const leaf::Error error = error_of([&] { store.grant(order, 1); });
  CHECK(error.code() == leaf::ErrorCode::refused);
  CHECK(std::string(error.what()).find("client_min_messages") != std::string::npos);
}

TEST_CASE("commit: where a standby is missing, no worker stays leased to those who got no answer") {
  leaf::test::PostgresqlCluster cluster;
  set_up(cluster.url());
  leaf::test::SqlSession administrator(cluster.url() + " options='-c synchronous_commit=local'");
  require_standby(administrator, "missing");
  const leaf::WorkerRequest request{.owner = "a"};
  for (int i = 0; i < 3; ++i) {
    leaf::Store store({.url = cluster.url(), .timeout = std::chrono::milliseconds(500)});
    CHECK(error_of([&] { store.acquire_worker(request); }).code() == leaf::ErrorCode::unavailable);
  }
  require_standby(administrator, "");
  leaf::Store store({.url = cluster.url()});
  REQUIRE(leaf::test::wait_for([&] { return std::ranges::none_of(store.workers(), &leaf::Worker::leased); }));
  CHECK(store.workers().size() == 1);
  CHECK(store.acquire_worker(request).worker == 0);
}

TEST_CASE("commit: a wait for a missing standby that is cancelled burns the range") {
  leaf::test::PostgresqlCluster cluster;
  set_up(cluster.url());
  leaf::test::GrantAudit audit(cluster.url());
  leaf::test::SqlSession administrator(cluster.url() + " options='-c synchronous_commit=local'");
  const auto commits_wait = [&] { return leaf::Store({.url = cluster.url()}).health().commits_wait; };
  CHECK_FALSE(commits_wait());
  require_standby(administrator, "missing");
  CHECK(commits_wait());

  std::string end_wait;
  std::vector<std::string> expected;
  SUBCASE("by pg_cancel_backend") {
    end_wait = "pg_cancel_backend";
    expected = {"01000"};
  }
  SUBCASE("by pg_terminate_backend") {
    end_wait = "pg_terminate_backend";
    expected = {"57P01", "08006"};  // the server's last word, unless it never arrives
  }
  SUBCASE("by the call's own timeout") {
    expected = {"57014"};
  }

  const bool by_timeout = end_wait.empty();
  leaf::Store store(
      {.url = cluster.url(), .timeout = std::chrono::milliseconds(by_timeout ? 2'000 : 60'000)});
  std::jthread ending;
  if (!by_timeout) ending = ending_waits(cluster.url(), end_wait);
  const leaf::Error error = error_of([&] { store.grant(order, 10); });
  ending = {};
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(std::count(expected.begin(), expected.end(), error.sqlstate()) == 1);

  // Locally they are committed; had a client believed one, a failover would have given it out again.
  // Others see that only when the server has ended the wait, which may be after its client has gone.
  const std::int64_t burnt = by_timeout ? 10 : 30;
  CHECK(leaf::test::wait_for([&] { return audit.burnt("order") == burnt; }));
  require_standby(administrator, "");
  CHECK_FALSE(commits_wait());
  audit.given("order", store.grant(order, 10).range);
  CHECK(audit.burnt("order") == burnt);
}

TEST_CASE("commit: a tag whose removal no standby has confirmed is not told to be removed") {
  leaf::test::PostgresqlCluster cluster;
  set_up(cluster.url());
  leaf::test::SqlSession administrator(cluster.url() + " options='-c synchronous_commit=local'");
  require_standby(administrator, "missing");
  leaf::Store store({.url = cluster.url(), .timeout = patience});
  std::jthread ending = ending_waits(cluster.url(), "pg_cancel_backend");
  // Where the first attempt has removed it, the second one finds it gone, and so does the next call.
  for (int call = 0; call < 2; ++call)
    CHECK(error_of([&] { store.remove_tag(order); }).code() == leaf::ErrorCode::unavailable);
  ending = {};
  require_standby(administrator, "");
  CHECK(error_of([&] { store.remove_tag(order); }).code() == leaf::ErrorCode::not_found);
  CHECK(administrator.value("SELECT count(*) FROM leaf_event WHERE event = 'remove'") == "1");
}

TEST_CASE("commit: what no standby has confirmed is not told to be there, however often it is asked for") {
  leaf::test::PostgresqlCluster cluster;
  set_up(cluster.url());
  leaf::test::SqlSession administrator(cluster.url() + " options='-c synchronous_commit=local'");
  administrator.run("CREATE DATABASE fresh");
  require_standby(administrator, "missing");
  leaf::Store fresh({.url = cluster.url() + " dbname=fresh", .timeout = patience});
  leaf::Store store({.url = cluster.url(), .timeout = patience});
  const std::string former = store.identity().deployment;
  std::jthread ending = ending_waits(cluster.url(), "pg_cancel_backend");
  const leaf::ImportedTag raised{.name = order, .next_id = 5'000'000};
  // Where the first attempt has made it, the second one finds it there, and so does the next call.
  for (int call = 0; call < 2; ++call) {
    CAPTURE(call);
    CHECK(error_of([&] { fresh.migrate(); }).code() == leaf::ErrorCode::unavailable);
    CHECK(error_of([&] { leaf::import_tags({raised}, store); }).code() == leaf::ErrorCode::unavailable);
    CHECK(error_of([&] {
            store.set_worker_range(leaf::WorkerRange{0, 511});
          }).code() == leaf::ErrorCode::unavailable);
  }
  CHECK(store.tag(order).next_id == 5'000'000);
  CHECK(error_of([&] { store.begin_new_deployment(former); }).code() == leaf::ErrorCode::unavailable);
  ending = {};
  require_standby(administrator, "");
  CHECK(fresh.migrate().empty());
  CHECK(store.identity().deployment != former);
  CHECK(administrator.value("SELECT count(*) FROM leaf_event WHERE event = 'deployment'") == "1");
}

TEST_CASE("commit: where a standby is waited for, a role that does not wait is granted nothing") {
  leaf::test::PostgresqlCluster cluster;
  set_up(cluster.url());
  leaf::Store owner({.url = cluster.url()});
  owner.install_functions();
  leaf::test::SqlSession administrator(cluster.url());
  administrator.run("CREATE ROLE rt LOGIN");
  owner.grant_runtime_role("rt");
  // Without one it waits for its own disk, as others do.
  const std::string url = "host=" + cluster.host() + " port=5432 user=rt dbname=postgres";
  leaf::test::SqlSession(url).run("ALTER ROLE rt SET synchronous_commit = local");
  CHECK(leaf::Store({.url = url}).grant(order, 1).range == leaf::Range{1, 2});

  administrator.run("SET synchronous_commit = local");
  administrator.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  administrator.run("SELECT pg_reload_conf()");
  REQUIRE(leaf::test::wait_for(
      [&] { return administrator.value("SHOW synchronous_standby_names") == "nobody"; }));
  leaf::Store store({.url = url});
  leaf::Store administering({.url = cluster.url() + " options='-c synchronous_commit=local'"});
  for (const leaf::Error& error :
       {error_of([&] { store.grant(order, 1); }), error_of([&] { store.grant_segment(order); }),
        error_of([&] { store.acquire_worker({.owner = "a"}); }),
        error_of([&] { administering.update_tag(order, {.raise_to = 1'000'000}); })}) {
    CHECK(error.code() == leaf::ErrorCode::refused);
    CHECK(std::string(error.what()).find("'synchronous_commit' is 'local': commits do not wait") !=
          std::string::npos);
    CHECK(error.hint() == "leave it at its default for this role and database, and out of PGOPTIONS");
  }
  leaf::test::SqlSession session(url);
  CHECK(leaf::test::verdict(session, "SELECT leaf_next('order')")
            .starts_with("LF002|'synchronous_commit' is 'local'"));
  const auto settings = store.health().settings;
  CHECK(std::ranges::count(settings, "synchronous_standby_names", &leaf::StoreSetting::name) == 1);
  // A standby that has written it has it, unless its machine fails as well.
  for (const char* mode : {"on", "remote_write", "remote_apply"}) {
    leaf::Store waiting({.url = url + " options='-c synchronous_commit=" + mode + "'",
                         .timeout = std::chrono::milliseconds(500)});
    CHECK(error_of([&] { waiting.grant(order, 1); }).code() == leaf::ErrorCode::unavailable);
  }
}
