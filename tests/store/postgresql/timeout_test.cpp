#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "leaf/tag_import.hpp"
#include "support/error_of.hpp"
#include "support/manual_clock.hpp"
#include "support/pgbouncer.hpp"
#include "support/sql_session.hpp"
#include "support/tcp_proxy.hpp"
#include "support/test_database.hpp"
#include "support/wait_for.hpp"

using leaf::test::error_of;
using leaf::test::patience;
using leaf::test::proposes;
using leaf::test::TestDatabase;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

const leaf::TagName order("order");

/// The machine's clock, set forward: time that a server takes counts in it.
struct LaterClock final : leaf::test::ManualClock {
  steady_clock::time_point steady_now() override { return steady_clock::now() + later; }

  std::chrono::seconds later{0};
};

/// A store whose only row is locked by somebody else.
struct LockedRow {
  LockedRow() {
    leaf::Store store({.url = database.url()});
    store.migrate();
    store.add_tag({.name = order, .step = {}, .start = {}, .limit = {}, .description = {}});
    database.sql().run("BEGIN; SELECT FROM leaf_alloc WHERE biz_tag = 'order' FOR UPDATE");
  }
  /// Statements that wait for a lock, as the server sees them.
  std::string waiting() {
    return eyes.value(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = "
        "'Lock'");
  }
  void release() { database.sql().run("ROLLBACK"); }

  TestDatabase database;
  leaf::test::SqlSession eyes{database.url()};
};

}  // namespace

TEST_CASE_FIXTURE(LockedRow, "timeout: a lock that is held past it is given up, on the server too") {
  leaf::Store store({.url = database.url(), .timeout = patience});
  CHECK(store.tags().size() == 1);
  store.set_timeout(milliseconds(400));
  const auto begun = steady_clock::now();
  const leaf::Error error = error_of([&] { store.grant(order, 1); });
  const auto took = steady_clock::now() - begun;
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(proposes(error, {.kind = leaf::Remedy::Kind::allow_more_time}));
  CHECK(took >= milliseconds(400));
  CHECK(took < milliseconds(3000));
  CHECK(leaf::test::wait_for([&] { return waiting() == "0"; }));

  release();
  store.set_timeout(patience);
  CHECK(store.grant(order, 1).range == leaf::Range{1, 2});
}

TEST_CASE_FIXTURE(LockedRow, "timeout: behind a pooler nobody gets what was asked for before it") {
  const leaf::test::Pgbouncer pgbouncer;
  leaf::Store store({.url = database.url(pgbouncer.parameters()), .timeout = patience});
  const leaf::TagName other("other");
  store.add_tag({.name = other, .step = {}, .start = 1000, .limit = {}, .description = {}});
  store.set_timeout(milliseconds(400));
  CHECK(error_of([&] { store.grant(order, 1); }).sqlstate() == "57014");
  release();
  store.set_timeout(patience);
  CHECK(store.grant(other, 1).range == leaf::Range{1000, 1001});
  CHECK(store.grant(order, 1).range == leaf::Range{1, 2});
}

TEST_CASE_FIXTURE(LockedRow, "timeout: the server's statement_timeout is out of reach, not a failure") {
  leaf::Store store({.url = database.url("options='-c statement_timeout=50ms'")});
  const leaf::Error error = error_of([&] { store.grant(order, 1); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.sqlstate() == "57014");
  CHECK(error.hint().find("raise that timeout for this role and database") != std::string::npos);
  release();
  CHECK(store.grant(order, 1).range == leaf::Range{1, 2});
}

TEST_CASE_FIXTURE(LockedRow, "timeout: the server's lock_timeout is tried again a number of times") {
  leaf::Store store({.url = database.url("options='-c lock_timeout=1ms'"), .timeout = milliseconds(60'000)});
  const leaf::Error error = error_of([&] { store.grant(order, 1); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.sqlstate() == "55P03");
  release();
  CHECK(store.grant(order, 1).range == leaf::Range{1, 2});
}

TEST_CASE("timeout: while logins hang the connection that is open is gone on with, within it") {
  TestDatabase database;
  LaterClock clock;
  leaf::test::TcpProxy proxy(std::getenv("PGHOST"), std::getenv("PGPORT"));
  leaf::Store store({.url = database.url(fmt::format("host=127.0.0.1 port={}", proxy.port())),
                     .timeout = std::chrono::seconds(2),
                     .clock = &clock});
  store.migrate();
  store.add_tag({.name = order, .step = {}, .start = {}, .limit = {}, .description = {}});
  CHECK(store.grant(order, 5).range.lo == 1);
  clock.later += std::chrono::seconds(31);
  proxy.hold_logins();
  const auto before = proxy.accepted();
  CHECK_NOTHROW(store.grant(order, 5));
  const auto hung = proxy.accepted();
  CHECK(hung > before);
  CHECK_NOTHROW(store.grant(order, 5));
  CHECK(proxy.accepted() == hung);  // not for each call
  // It is not trusted for longer than any other one.
  proxy.release();
  clock.later += std::chrono::seconds(31);
  CHECK_NOTHROW(store.grant(order, 5));
  CHECK(proxy.accepted() > hung);
}

TEST_CASE("timeout: a statement that an administrator cancels is out of reach") {
  LockedRow row;
  leaf::Store store({.url = row.database.url("application_name=cancelled")});
  std::string cancelled;
  std::jthread administrator([&](std::stop_token stop) {
    leaf::test::wait_for([&] {
      cancelled = row.eyes.value(
          "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity"
          " WHERE application_name = 'cancelled' AND wait_event_type = 'Lock'");
      return cancelled == "1" || stop.stop_requested();
    });
  });
  const leaf::Error error = error_of([&] { store.grant(order, 1); });
  administrator.join();
  CHECK(cancelled == "1");
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.sqlstate() == "57014");
}

TEST_CASE("timeout: an import that is larger than what the network holds is given up where nobody reads it") {
  TestDatabase database;
  leaf::test::TcpProxy proxy(std::getenv("PGHOST"), std::getenv("PGPORT"));
  leaf::Store store({.url = database.url(fmt::format("host=127.0.0.1 port={} sslmode=disable", proxy.port())),
                     .timeout = patience});
  store.migrate();
  // Their names alone are 12 MB; the kernel takes no more than four from who sends.
  std::vector<leaf::ImportedTag> tags;
  for (int i = 0; i < 100'000; ++i)
    tags.push_back({.name = leaf::TagName(fmt::format("{:0>120}", i)), .next_id = 1});
  CHECK(store.tags().empty());  // has looked at the schema
  proxy.hold(leaf::test::Way::request);
  store.set_timeout(milliseconds(500));
  auto importing =
      std::async(std::launch::async, [&] { return error_of([&] { leaf::plan_import(tags, store); }); });
  CHECK(importing.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
  proxy.release();
  CHECK(importing.get().code() == leaf::ErrorCode::unavailable);
}

TEST_CASE_FIXTURE(LockedRow, "timeout: a program may end at once, since the server has been told by then") {
  leaf::test::TcpProxy proxy(std::getenv("PGHOST"), std::getenv("PGPORT"));
  leaf::Store store(
      {.url = database.url(fmt::format("host=127.0.0.1 port={}", proxy.port())), .timeout = patience});
  CHECK(store.tags().size() == 1);
  const auto before = proxy.accepted();
  // The server hears of it, and its answer does not come.
  proxy.hold_logins();
  store.set_timeout(milliseconds(400));
  const auto begun = steady_clock::now();
  CHECK(error_of([&] { store.grant(order, 1); }).sqlstate() == "57014");
  // As long as is waited for an answer at most.
  CHECK(steady_clock::now() - begun >= milliseconds(400 + 500));
  CHECK(proxy.accepted() == before + 1);
  CHECK(leaf::test::wait_for([&] { return waiting() == "0"; }));
}
