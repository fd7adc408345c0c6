#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/grant_audit.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"

using leaf::test::error_of;
using leaf::test::GrantAudit;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;

namespace {

const leaf::TagName order("order");

void set_up(const std::string& url, std::int64_t step) {
  leaf::Store store({.url = url});
  store.migrate();
  store.add_tag({.name = order, .step = step, .start = {}, .limit = {}, .description = {}});
}

struct Drawn {
  std::vector<leaf::Range> ranges;
  std::vector<std::string> failures;
};

/// Each of `clients` threads takes `grants` grants, segments and exact ones in turn, on a connection of its
/// own.
Drawn draw(const leaf::StoreOptions& options, int clients, int grants) {
  std::vector<Drawn> drawn(static_cast<std::size_t>(clients));
  std::vector<std::thread> threads;
  for (Drawn& mine : drawn) {
    threads.emplace_back([&] {
      leaf::Store store(options);
      for (int i = 0; i < grants; ++i) {
        try {
          const auto grant = i % 2 == 0 ? store.grant_segment(order) : store.grant(order, 1 + i % 7);
          mine.ranges.push_back(grant.range);
        } catch (const leaf::Error& error) {
          mine.failures.emplace_back(error.what());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Drawn all;
  for (const Drawn& mine : drawn) {
    CHECK(std::is_sorted(mine.ranges.begin(), mine.ranges.end(),
                         [](leaf::Range a, leaf::Range b) { return a.lo < b.lo; }));
    all.ranges.insert(all.ranges.end(), mine.ranges.begin(), mine.ranges.end());
    all.failures.insert(all.failures.end(), mine.failures.begin(), mine.failures.end());
  }
  return all;
}

void require_all(const Drawn& drawn, std::size_t grants, GrantAudit& audit) {
  for (const std::string& failure : drawn.failures) CHECK(failure == "");
  CHECK(drawn.ranges.size() == grants);
  for (const leaf::Range& range : drawn.ranges) audit.given("order", range);
}

constexpr const char* removes = "UPDATE leaf_alloc SET removed_at = now(), changed_at = now()";
constexpr const char* adds_again =
    "UPDATE leaf_alloc SET removed_at = NULL, changed_at = now(), incarnation = gen_random_uuid()";

/// Who changes tags in an order of statements that the server's queues of locks keep: what waits goes on in
/// the order in which it came.
class Sequence {
 public:
  explicit Sequence(TestDatabase& database) : database_(database) {}

  /// Removes the tag, and does not commit yet.
  void begin_removal() {
    remover_.run("BEGIN");
    remover_.run(removes);
  }
  void commit_removal() { remover_.run("COMMIT"); }
  /// Runs `work` on a thread of its own, up to where it waits for a lock.
  template <typename Work>
  auto start(Work work) {
    auto running = std::async(std::launch::async, work);
    ++waiting_;
    REQUIRE(leaf::test::wait_for([this] {
      return database_.sql().value(
                 "SELECT count(*) FROM pg_stat_activity"
                 " WHERE datname = current_database() AND wait_event_type = 'Lock'") ==
             std::to_string(waiting_);
    }));
    return running;
  }
  /// Queues for the table of tags: whoever asks for it afterwards comes after end_turn().
  std::future<void> take_turn(SqlSession& session) {
    session.run("BEGIN");
    return start([&session] { session.run("LOCK TABLE leaf_alloc IN ACCESS EXCLUSIVE MODE"); });
  }
  /// Waits for a turn that was taken, in which nothing waited for before is left but what came later.
  void await_turn(std::future<void>& turn, int still_waiting) {
    turn.get();
    REQUIRE(leaf::test::wait_for([&] {
      return database_.sql().value(
                 "SELECT count(*) FROM pg_stat_activity"
                 " WHERE datname = current_database() AND wait_event_type = 'Lock'") ==
             std::to_string(still_waiting);
    }));
    waiting_ = still_waiting;
  }

 private:
  TestDatabase& database_;
  SqlSession remover_{database_.url()};
  int waiting_ = 0;
};

}  // namespace

TEST_CASE("concurrency: eight clients and Leaf's own transaction on one row get disjoint ranges") {
  TestDatabase database;
  set_up(database.url(), 10);
  GrantAudit audit(database.url());
  const std::string script =
      "BEGIN;\nUPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'order';\n"
      "SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = 'order';\nCOMMIT;\n";
  leaf::test::Process leaf({leaf::test::postgresql_program("pgbench"), "--no-vacuum", "--client=1",
                            "--transactions=500", "--file=/dev/stdin", database.name()},
                           script);
  const Drawn drawn = draw({.url = database.url(), .timeout = std::chrono::seconds(60)}, 8, 100);
  INFO(leaf.output());
  CHECK(leaf.wait() == 0);
  require_all(drawn, 800, audit);
  CHECK(audit.committed("order") == 800 + 500);
  CHECK(audit.burnt("order") == 500 * 10);
}

TEST_CASE("concurrency: a step that changes at random under four clients leaves every range whole") {
  TestDatabase database;
  set_up(database.url(), 10);
  GrantAudit audit(database.url());
  int changes = 0;
  std::jthread changing([&](std::stop_token stop) {
    leaf::test::SqlSession session(database.url());
    std::minstd_rand random(20260102);
    for (; !stop.stop_requested(); ++changes) {
      const auto step = std::uniform_int_distribution<int>(1, 5000)(random);
      session.rows("UPDATE leaf_alloc SET step = $1 WHERE biz_tag = 'order'", {std::to_string(step)});
    }
  });
  const Drawn drawn = draw({.url = database.url(), .timeout = std::chrono::seconds(60)}, 4, 100);
  changing.request_stop();
  changing.join();
  CHECK(changes > 0);
  require_all(drawn, 400, audit);
  CHECK(audit.burnt("order") == 0);
}

TEST_CASE("concurrency: SERIALIZABLE as the default is retried until each grant is through") {
  TestDatabase database;
  set_up(database.url(), 10);
  GrantAudit audit(database.url());
  database.sql().run("ALTER DATABASE " + database.name() +
                     " SET default_transaction_isolation = 'serializable'");
  const Drawn drawn = draw({.url = database.url(), .timeout = std::chrono::seconds(60)}, 4, 50);
  require_all(drawn, 200, audit);
  CHECK(audit.burnt("order") == 0);
}

TEST_CASE("concurrency: a tag that is removed, and added again before it is looked for, is granted") {
  TestDatabase database;
  set_up(database.url(), 10);
  Sequence sequence(database);
  SqlSession adding(database.url());
  sequence.begin_removal();
  auto granted = sequence.start([&] {
    leaf::Store store({.url = database.url(), .timeout = std::chrono::seconds(60)});
    return store.grant(order, 1).range;
  });
  auto turn = sequence.take_turn(adding);
  sequence.commit_removal();
  sequence.await_turn(turn, 1);  // the grant had no row, and looks why
  adding.run(adds_again);
  adding.run("COMMIT");
  CHECK(granted.get() == leaf::Range{1, 2});
}

TEST_CASE("concurrency: a tag that is missing while it is looked for is not taken for one that was lost") {
  TestDatabase database;
  set_up(database.url(), 10);
  leaf::Store store({.url = database.url(), .timeout = std::chrono::seconds(60)});
  store.grant(order, 1);
  Sequence sequence(database);
  SqlSession first(database.url()), second(database.url());
  sequence.begin_removal();
  auto refused = sequence.start([&] { return error_of([&] { store.grant(order, 1); }); });
  auto before = sequence.take_turn(first);
  sequence.commit_removal();
  sequence.await_turn(before, 1);
  auto after = sequence.take_turn(second);
  first.run("COMMIT");
  after.get();  // after the first look at least
  second.run(adds_again);
  second.run("COMMIT");
  const leaf::Error error = refused.get();
  CHECK(error.code() == leaf::ErrorCode::not_found);
  CHECK(std::string(error.what()) == "tag 'order' does not exist");
}

TEST_CASE("pgbouncer: eight clients share one server connection in transaction mode") {
  TestDatabase database;
  const leaf::test::Pgbouncer pgbouncer;
  const std::string url = database.url(pgbouncer.parameters());
  set_up(url, 10);
  CHECK(leaf::Store({.url = url}).migrate().empty());
  GrantAudit audit(database.url());
  const Drawn drawn = draw({.url = url, .timeout = std::chrono::seconds(60)}, 8, 50);
  require_all(drawn, 400, audit);
  CHECK(audit.committed("order") == 400);
  // What was tried leaves nothing behind in a session that others get next.
  database.sql().run("ALTER TABLE leaf_alloc ADD CONSTRAINT odd CHECK (max_id < 5) NOT VALID");
  CHECK(leaf::Store({.url = url}).health().refused_grant);
  database.sql().run("ALTER TABLE leaf_alloc DROP CONSTRAINT odd");
  CHECK(!leaf::Store({.url = url}).health().refused_grant);
  CHECK(audit.committed("order") == 400);
  CHECK(leaf::test::SqlSession(url).value("SELECT count(*) FROM pg_prepared_statements") == "0");
  CHECK(database.sql().value("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                             " AND application_name = '" +
                             std::string(program_invocation_short_name) + "'") == "1");
}

TEST_CASE("pgbouncer: in session mode each client has a server connection of its own") {
  TestDatabase database;
  const leaf::test::Pgbouncer pgbouncer("session", 10);
  const std::string url = database.url(pgbouncer.parameters());
  set_up(url, 10);
  GrantAudit audit(database.url());
  require_all(draw({.url = url, .timeout = std::chrono::seconds(60)}, 8, 50), 400, audit);
  CHECK(audit.committed("order") == 400);
}

TEST_CASE("pgbouncer: statement mode lets clients draw, and nobody change the schema") {
  TestDatabase database;
  const leaf::test::Pgbouncer pgbouncer("statement");
  const std::string url = database.url(pgbouncer.parameters());
  const leaf::Error refused = error_of([&] { leaf::Store({.url = url}).migrate(); });
  CHECK(refused.code() == leaf::ErrorCode::usage);
  CHECK(refused.hint() == "name the server itself, or a pooler that keeps a connection for a transaction");
  set_up(database.url(), 10);
  GrantAudit audit(database.url());
  require_all(draw({.url = url, .timeout = std::chrono::seconds(60)}, 8, 50), 400, audit);
  CHECK(audit.committed("order") == 400);
  leaf::Store pooled({.url = url});
  const leaf::WorkerRequest request{.owner = "host"};
  const leaf::WorkerLease lease = pooled.acquire_worker(request);
  CHECK(pooled.renew_worker(lease, request).begin >= lease.end);
  CHECK(!pooled.health().refused_grant);
  CHECK(!pooled.health().refused_lease);
  // The pooler ends a session whose transaction has failed.
  database.sql().run("ALTER TABLE leaf_alloc ADD CONSTRAINT odd CHECK (max_id < 5) NOT VALID");
  const auto refused_grant = pooled.health().refused_grant;
  REQUIRE(refused_grant);
  CHECK(refused_grant->error.code() == leaf::ErrorCode::refused);
  CHECK(pooled.tags().size() == 1);
}
