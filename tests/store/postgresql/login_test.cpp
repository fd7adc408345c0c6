#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/tcp_proxy.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::TestDatabase;
using leaf::test::TestRole;

namespace {

const leaf::TagName order("order");

leaf::Error login_error(const std::string& url) {
  return error_of([&] {
    leaf::Store store({.url = url, .timeout = std::chrono::seconds(2)});
    store.tags();
  });
}

bool mentions(const leaf::Error& error, const std::string& text) {
  return (std::string(error.what()) + "\n" + error.hint()).find(text) != std::string::npos;
}

std::string server(const char* name) {
  return std::getenv(name);
}

}  // namespace

TEST_CASE("login: a port where nobody listens is out of reach, and no password is shown") {
  const leaf::Error error = login_error("postgresql://alice:geheim@127.0.0.1:1/leaf");
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.retryable());
  CHECK(mentions(error, "Connection refused"));
  CHECK(mentions(error, "postgresql://alice:***@127.0.0.1:1/leaf"));
  CHECK(!mentions(error, "geheim"));
  CHECK(!mentions(error, "\n\t"));
}

TEST_CASE("login: a host without an address is out of reach") {
  const leaf::Error error = login_error("host=no-such-host.invalid dbname=leaf password=geheim");
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(!mentions(error, "geheim"));
}

TEST_CASE("login: a wrong password and a user who is not there are matters of configuration") {
  TestDatabase database;
  const TestRole role("LOGIN PASSWORD 'right'");
  const leaf::Error wrong = login_error(database.url("user=" + role.name() + " password=geheim"));
  CHECK(wrong.code() == leaf::ErrorCode::usage);
  CHECK(wrong.sqlstate() == "28P01");
  CHECK(mentions(wrong, "password authentication failed for user \"" + role.name()));
  CHECK(!mentions(wrong, "geheim"));
  CHECK(!mentions(wrong, "LOCATION"));

  const leaf::Error nobody = login_error(database.url("user=nobody_at_all password=geheim"));
  CHECK(nobody.code() == leaf::ErrorCode::usage);
  CHECK(!mentions(nobody, "geheim"));

  const leaf::Error none =
      login_error(database.url("user=" + role.name() + " password='' passfile=/no/such/file"));
  CHECK(none.code() == leaf::ErrorCode::usage);
  CHECK(mentions(none, "PGPASSFILE"));
}

TEST_CASE("login: a database that does not exist is named") {
  const leaf::Error error = login_error("dbname=leaf_test_missing");
  CHECK(error.code() == leaf::ErrorCode::usage);
  CHECK(error.sqlstate() == "3D000");
  CHECK(mentions(error, "leaf_test_missing"));
  CHECK(mentions(error, "createdb"));
}

TEST_CASE("login: a malformed connection string is a matter of configuration, and shows no password") {
  for (const std::string url :
       {"postgresql://alice:geheim@[::1/leaf", "postgresql://alice:geheim@localhost/leaf?nonsense=1",
        "postgresql://alice:geheim@localhost:port/leaf",
        "postgresql://alice:geheim@localhost/leaf?sslmode=perhaps",
        "postgresql://alice:ge%zzheim@localhost/leaf", "host=localhost password='geheim",
        "host=localhost password=geheim nonsense=1", "host=localhost password=geheim connect_timeout=soon",
        "host=localhost password=geheim port=1,2,3", "service=no_such_service password=geheim"}) {
    CAPTURE(url);
    const leaf::Error error = login_error(url);
    CHECK(error.code() == leaf::ErrorCode::usage);
    CHECK(!mentions(error, "geheim"));
    CHECK(!mentions(error, "heim@"));
    CHECK(!error.hint().empty());
  }
}

TEST_CASE("login: a role without rights is told so") {
  TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();
  const TestRole role("LOGIN PASSWORD 'right'");
  const leaf::Error error = login_error(database.url("user=" + role.name() + " password=right"));
  CHECK(error.code() == leaf::ErrorCode::usage);
  CHECK(error.sqlstate() == "42501");
  CHECK(mentions(error, "permission denied for table leaf_meta"));
}

TEST_CASE("login: a role with rights to the two tables alone can draw IDs") {
  TestDatabase database;
  leaf::Store owner({.url = database.url()});
  owner.migrate();
  owner.add_tag({.name = order, .step = {}, .start = {}, .limit = {}, .description = {}});
  const TestRole role("LOGIN PASSWORD 'right'");
  database.sql().run("GRANT SELECT ON leaf_meta TO " + role.name() +
                     "; GRANT SELECT, UPDATE ON leaf_alloc TO " + role.name());
  leaf::Store store({.url = database.url("user=" + role.name() + " password=right")});
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
  database.sql().run("REVOKE ALL ON leaf_meta, leaf_alloc FROM " + role.name());
}

TEST_CASE("login: URLs, key=value pairs and other databases' settings all work") {
  TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();
  const std::string url = "postgresql://" + server("PGUSER") + ":" + server("PGPASSWORD") + "@" +
                          server("PGHOST") + ":" + server("PGPORT") + "/" + database.name();
  CHECK(leaf::Store({.url = url}).tags().empty());
  CHECK(leaf::Store({.url = url + "?application_name=it%27s"}).tags().empty());
  database.sql().run("ALTER DATABASE " + database.name() + " SET datestyle = 'German'; ALTER DATABASE " +
                     database.name() + " SET bytea_output = 'escape'; ALTER DATABASE " + database.name() +
                     " SET client_encoding = 'LATIN1'; ALTER DATABASE " + database.name() +
                     " SET timezone = 'Pacific/Chatham'");
  leaf::Store store({.url = url});
  const leaf::Tag tag =
      store.add_tag({.name = order, .step = {}, .start = {}, .limit = {}, .description = "標籤"});
  CHECK(tag.description == "標籤");
  CHECK(database.sql().value("SELECT description FROM leaf_alloc") == "標籤");
  const auto age = std::chrono::system_clock::now() - tag.updated_at;
  CHECK(std::chrono::abs(age) < std::chrono::minutes(1));
}

TEST_CASE("login: a store opens one connection, and keeps it") {
  TestDatabase database;
  leaf::test::TcpProxy proxy(server("PGHOST"), server("PGPORT"));
  leaf::Store store(
      {.url = database.url("host=127.0.0.1 sslmode=disable port=" + std::to_string(proxy.port()))});
  store.migrate();
  CHECK(store.tags().empty());
  CHECK(error_of([&] { store.grant(order, 1); }).code() == leaf::ErrorCode::not_found);
  CHECK(proxy.accepted() == 1);
}
