#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/grant_audit.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/test_database.hpp"

using leaf::test::GrantAudit;
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
  CHECK(leaf::test::SqlSession(url).value("SELECT count(*) FROM pg_prepared_statements") == "0");
  CHECK(database.sql().value("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                             " AND application_name = 'leafctl'") == "1");
}
