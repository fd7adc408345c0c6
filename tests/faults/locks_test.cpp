#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/health.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/sql_session.hpp"

using leaf::StoreLock;
using leaf::test::SqlSession;
using Texts = std::vector<std::string>;

namespace {

const leaf::TagName order("order");

/// A server that knows prepared transactions, and a store with two tags.
struct Locked {
  Locked() {
    store.migrate();
    for (const char* tag : {"order", "bill"})
      store.add_tag({.name = leaf::TagName(tag), .step = 10, .start = {}, .limit = {}, .description = {}});
  }

  /// A transaction of `session` that stays open.
  static void hold(SqlSession& session, const std::string& statements) {
    session.run("BEGIN; " + statements);
  }

  leaf::test::PostgresqlCluster cluster{"max_prepared_transactions = 2"};
  leaf::Store store{{.url = cluster.url(), .timeout = std::chrono::seconds(2)}};
  SqlSession one{cluster.url()}, other{cluster.url()};
};

const std::string change_order = "UPDATE leaf_alloc SET description = 'x' WHERE biz_tag = 'order';";
const std::string see_order = "SELECT FROM leaf_alloc WHERE biz_tag = 'order' ";

/// Whose locks are told.
std::vector<std::int64_t> processes(const leaf::StoreHealth& health) {
  std::vector<std::int64_t> found;
  for (const StoreLock& lock : health.locks) {
    CHECK(lock.what == Texts{"tag 'order'"});
    CHECK(lock.prepared.empty());
    found.push_back(lock.process);
  }
  return found;
}

std::vector<std::int64_t> sorted(std::vector<std::int64_t> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace

TEST_CASE_FIXTURE(Locked, "locks: a prepared transaction is named, and what ends it") {
  hold(one, change_order + "PREPARE TRANSACTION 'it''s forgotten'");
  hold(one, "UPDATE leaf_alloc SET description = 'x' WHERE biz_tag = 'bill'; PREPARE TRANSACTION 'another'");
  const std::vector<StoreLock> locks = store.health().locks;
  REQUIRE(locks.size() == 2);
  CHECK(locks[0].prepared == "'another'");
  CHECK(locks[0].what == Texts{"tag 'bill'"});
  CHECK(locks[1].prepared == "'it''s forgotten'");
  CHECK(locks[1].what == Texts{"tag 'order'"});
  CHECK(locks[1].process == 0);
  CHECK(locks[1].role == "postgres");
  CHECK(locks[1].since);
  one.run("ROLLBACK PREPARED " + locks[1].prepared);
  one.run("COMMIT PREPARED " + locks[0].prepared);
  CHECK(store.health().locks.empty());
  CHECK_NOTHROW(store.grant(order, 1));
}

TEST_CASE_FIXTURE(
    Locked, "locks: a prepared transaction that locks a table is named, also where nobody can read it") {
  hold(one, "LOCK TABLE leaf_alloc IN SHARE MODE; PREPARE TRANSACTION 'forgotten'");
  std::vector<StoreLock> locks = store.health().locks;
  REQUIRE(locks.size() == 1);
  CHECK(locks[0].prepared == "'forgotten'");
  CHECK(locks[0].what == Texts{"table leaf_alloc"});
  one.run("ROLLBACK PREPARED 'forgotten'");
  hold(one, "LOCK TABLE leaf_alloc; PREPARE TRANSACTION 'forgotten'");
  const leaf::Error error = leaf::test::error_of([&] { store.health(); });
  CHECK(std::string(error.what()).ends_with(": the prepared transaction 'forgotten' locks table leaf_alloc"));
  CHECK(error.hint().starts_with("end it with ROLLBACK PREPARED 'forgotten', or with COMMIT PREPARED 'forg"));
  one.run("ROLLBACK PREPARED 'forgotten'");
  CHECK(store.health().locks.empty());
}

TEST_CASE_FIXTURE(Locked, "locks: each session that shares a row is named") {
  hold(one, see_order + "FOR SHARE");
  CHECK(processes(store.health()) == std::vector<std::int64_t>{one.backend()});
  hold(other, see_order + "FOR SHARE");
  CHECK(processes(store.health()) == sorted({one.backend(), other.backend()}));
  one.run("COMMIT");
  CHECK(processes(store.health()) == std::vector<std::int64_t>{other.backend()});
  other.run("COMMIT");
  CHECK(store.health().locks.empty());
}

TEST_CASE_FIXTURE(Locked, "locks: who changes a row in a savepoint after having shared it is named once") {
  hold(one, see_order + "FOR SHARE; SAVEPOINT a; " + change_order);
  CHECK(processes(store.health()) == std::vector<std::int64_t>{one.backend()});
}

TEST_CASE_FIXTURE(Locked, "locks: of those that share a row, who is in no grant's way is not named") {
  hold(one, see_order + "FOR KEY SHARE");
  hold(other, change_order);
  CHECK(processes(store.health()) == std::vector<std::int64_t>{other.backend()});
  other.run("ROLLBACK");
  hold(other, see_order + "FOR KEY SHARE");
  CHECK(store.health().locks.empty());
  CHECK_NOTHROW(store.grant(order, 1));
}

TEST_CASE_FIXTURE(Locked, "locks: a prepared transaction that shares a row is named beside a session") {
  hold(one, see_order + "FOR SHARE");
  hold(other, see_order + "FOR SHARE; PREPARE TRANSACTION 'forgotten'");
  const std::vector<StoreLock> locks = store.health().locks;
  REQUIRE(locks.size() == 2);
  CHECK(locks[0].prepared == "'forgotten'");
  CHECK(locks[1].process == one.backend());
}

TEST_CASE_FIXTURE(Locked,
                  "locks: a number of a multixact that is also another transaction's misleads nobody") {
  // Until the next multixact has the number of a transaction that is open, and locks no row here.
  SqlSession third(cluster.url());
  one.run("CREATE TABLE aside (n integer)");
  hold(other, "INSERT INTO aside VALUES (1)");
  const std::string number = other.value("SELECT pg_current_xact_id()::text");
  SqlSession fourth(cluster.url());
  const auto meet = [&] {
    hold(third, see_order + "FOR SHARE");
    hold(fourth, see_order + "FOR SHARE");
    const std::string multixact = one.value("SELECT xmax::text FROM leaf_alloc WHERE biz_tag = 'order'");
    if (multixact == number) return true;
    third.run("ROLLBACK");
    fourth.run("ROLLBACK");
    return false;
  };
  bool met = false;
  for (int i = 0; i < 20'000 && !met; ++i) met = meet();
  REQUIRE(met);
  CHECK(processes(store.health()) == sorted({third.backend(), fourth.backend()}));
}

TEST_CASE_FIXTURE(Locked, "locks: who keeps the schema from being changed is named") {
  one.run("SELECT pg_advisory_lock(1818583398)");
  const std::vector<StoreLock> locks = store.health().locks;
  REQUIRE(locks.size() == 1);
  CHECK(locks[0].what == Texts{"changes of the schema"});
  CHECK(locks[0].process == std::stoll(one.value("SELECT pg_backend_pid()")));
}
