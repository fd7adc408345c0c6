#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <libpq-fe.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "leaf/error.hpp"
#include "leaf/host_defaults.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/manual_clock.hpp"
#include "support/tcp_proxy.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::proposes;
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

/// Listens on 127.0.0.1 and answers whoever asks, for TLS by default: "S" goes on in TLS, "N" has none.
class Answering {
 public:
  explicit Answering(const std::string& answer) : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, generic, size) != 0 || listen(listener_, 8) != 0 ||
        getsockname(listener_, generic, &size) != 0) {
      throw std::runtime_error("no port to listen on");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, answer] {
      for (int peer = 0; (peer = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; close(peer)) {
        std::array<char, 8> request{};
        if (recv(peer, request.data(), request.size(), MSG_WAITALL) == static_cast<ssize_t>(request.size()))
          send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
        // Until libpq has had enough.
        while (!answer.empty() && recv(peer, request.data(), request.size(), 0) > 0) continue;
      }
    });
  }
  ~Answering() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  std::string port() const { return std::to_string(port_); }
  std::string url(const std::string& more) const {
    return "host=127.0.0.1 port=" + port() + " user=alice dbname=leaf gssencmode=disable " + more;
  }

 private:
  int listener_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_CASE("login: a root certificate that is missing is named, with the setting that names another") {
  const Answering tls("S");
  for (const std::string mode : {"verify-ca", "verify-full"}) {
    const leaf::Error error = login_error(tls.url("sslrootcert=/no/such/root.crt sslmode=" + mode));
    CHECK(error.code() == leaf::ErrorCode::usage);
    CHECK(!error.retryable());
    CHECK(mentions(error, "root certificate file \"/no/such/root.crt\" does not exist"));
    CHECK(error.hint().find("sslrootcert=FILE") != std::string::npos);
    CHECK(!mentions(error, "disable server certificate verification"));
  }
}

TEST_CASE("login: a certificate of one's own that cannot be read is named, and a server without TLS") {
  const Answering tls("S");
  const leaf::Error own = login_error(tls.url("sslmode=require sslcert=/proc/version sslkey=/no/such/key"));
  CHECK(own.code() == leaf::ErrorCode::usage);
  CHECK(mentions(own, "/proc/version"));
  CHECK(own.hint().find("sslcert=FILE") != std::string::npos);

  const Answering without("N");
  const leaf::Error none = login_error(without.url("sslmode=require"));
  CHECK(none.code() == leaf::ErrorCode::usage);
  CHECK(mentions(none, "server does not support SSL"));
  CHECK(none.hint().find("sslmode") != std::string::npos);
}

TEST_CASE("login: where one server is down and another's certificate cannot be checked, it is tried again") {
  const Answering tls("S");
  const leaf::Error error = login_error(tls.url(
      "sslmode=verify-full sslrootcert=/no/such/root.crt host=127.0.0.1,127.0.0.1 port=1," + tls.port()));
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(mentions(error, "Connection refused"));
  CHECK(error.hint().find("sslrootcert=FILE") != std::string::npos);
}

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

TEST_CASE("login: a role that the server does not let in is not blamed on the password") {
  TestDatabase database;
  const TestRole role("NOLOGIN PASSWORD 'right'");
  const leaf::Error error = login_error(database.url("user=" + role.name() + " password=right"));
  CHECK(error.code() == leaf::ErrorCode::usage);
  CHECK(error.sqlstate() == "28000");
  CHECK(error.hint().find("pg_hba.conf") != std::string::npos);
  database.sql().run("ALTER ROLE " + role.name() + " LOGIN");
  leaf::Store store({.url = database.url("user=" + role.name() + " password=right")});
  CHECK_NOTHROW(store.health());
}

TEST_CASE("login: a service that is not defined is told where to be") {
  const leaf::Error error = login_error("service=no_such_service");
  CHECK(error.code() == leaf::ErrorCode::usage);
  CHECK(mentions(error, "no_such_service"));
  CHECK(error.hint().find("PGSERVICEFILE") != std::string::npos);
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
        "host=localhost password=geheim port=1,2,3", "service=no_such_service password=geheim",
        "host=localhost password=a geheim", "host=localhost;password=geheim",
        "postgresql://alice:geheim/leaf", "postgresql://alice:a/geheim@localhost/leaf",
        "postgresql://localhost/leaf?password=a&geheim=b", "dbname=leaf password='a'geheim",
        "postgresql://localhost?password=a@geheim"}) {
    CAPTURE(url);
    const leaf::Error error = login_error(url);
    CHECK(error.code() == leaf::ErrorCode::usage);
    CHECK(!mentions(error, "geheim"));
    CHECK(!mentions(error, "heim@"));
    CHECK(!error.hint().empty());
  }
}

TEST_CASE("login: what is wrong with a connection string is named though it holds a password") {
  CHECK(mentions(login_error("postgresql://alice:geheim@localhost/leaf?sslmode=perhaps"), "\"perhaps\""));
  CHECK(mentions(login_error("service=no_such_service password=geheim"), "no_such_service"));
  CHECK(mentions(login_error("postgresql://alice:ge%zzheim@localhost/leaf"), "a '%' is not followed by"));
  CHECK(mentions(login_error("host=localhost password='geheim"), "a quote is not closed"));
  CHECK(mentions(login_error("postgresql://alice:geheim/leaf"), "a port is not a number"));
}

TEST_CASE("login: a role without rights is told so") {
  TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();
  const TestRole role("LOGIN PASSWORD 'right'");
  const leaf::Error error = login_error(database.url("user=" + role.name() + " password=right"));
  CHECK(error.code() == leaf::ErrorCode::usage);
  CHECK(error.sqlstate() == "42501");
  CHECK(mentions(error, "permission denied for table leaf_meta"));
  CHECK(proposes(error, {.kind = leaf::Remedy::Kind::grant_role}));
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

TEST_CASE("login: the variables that a store was named by hold for as long as it is used") {
  TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();
  const std::string before = server("PGHOST");
  const auto with_another_host = [&](const auto& work) {
    setenv("PGHOST", "nowhere.invalid", 1);
    work();
    setenv("PGHOST", before.c_str(), 1);
  };
  const std::string named_by_variable = "dbname=" + database.name();
  leaf::Store store({.url = named_by_variable});
  leaf::Store named({.url = named_by_variable + " host=" + before});
  leaf::Store connected({.url = named_by_variable});
  CHECK(connected.tags().empty());
  with_another_host([&] {
    const leaf::Error error = error_of([&] { store.tags(); });
    CHECK(error.code() == leaf::ErrorCode::usage);
    CHECK(std::string(error.what()) == "the variable PGHOST has changed since this program named the store");
    CHECK(named.tags().empty());
    CHECK(connected.tags().empty());
  });
  CHECK(store.tags().empty());
  leaf::StoreOptions options{.url = named_by_variable};
  with_another_host([&] { options.variables = leaf::HostDefaults(leaf::host_defaults()).host.store_key; });
  CHECK(error_of([&] { leaf::Store(options).tags(); }).code() == leaf::ErrorCode::usage);
}

namespace {

/// What is wrong with a store that was named as `url` and by `before`, where the variables are those of this
/// process.
std::string complaint_of(const std::string& url, const std::string& before) {
  leaf::Store store({.url = url, .variables = before});
  return error_of([&] { store.tags(); }).what();
}

/// `lines` with another value of a variable.
std::string with_other(const std::string& name, std::string lines) {
  const std::size_t at = lines.find(name + '=');
  return at == std::string::npos ? lines + name + "=other\n"
                                 : lines.replace(at, lines.find('\n', at) + 1 - at, name + "=other\n");
}

}  // namespace

TEST_CASE("login: home, user and resolver's options hold as well, where they lead to a store") {
  TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();
  const leaf::test::TemporaryFolder folder;
  const std::string services = (folder.path() / "services").string();
  std::ofstream(services) << "[ids]\ndbname=" << database.name() << "\n";
  const std::string now = leaf::HostDefaults(leaf::host_defaults()).host.store_key;
  const std::string changed = " has changed since this program named the store";

  CHECK(complaint_of(database.url(), with_other("RES_OPTIONS", now)) == "the variable RES_OPTIONS" + changed);

  CHECK(complaint_of("service=ids", with_other("HOME", now)) == "the variable HOME" + changed);
  CHECK_NOTHROW(leaf::Store({.url = database.url(), .variables = with_other("HOME", now)}).tags());

  // The server's own user is set by PGUSER, where there is one.
  const std::string other_user = with_other("EUID", now);
  CHECK_NOTHROW(leaf::Store({.url = database.url(), .variables = other_user}).tags());
  const std::string pguser = server("PGUSER");
  unsetenv("PGUSER");
  const std::string without = leaf::HostDefaults(leaf::host_defaults()).host.store_key;
  CHECK(complaint_of("dbname=" + database.name(), with_other("EUID", without)) ==
        "the effective user" + changed);
  CHECK_NOTHROW(
      leaf::Store({.url = database.url("user=" + pguser), .variables = with_other("EUID", without)}).tags());
  const std::string home = server("HOME");
  unsetenv("HOME");
  const std::string homeless = leaf::HostDefaults(leaf::host_defaults()).host.store_key;
  CHECK(complaint_of("service=ids user=" + pguser, with_other("EUID", homeless)) ==
        "the effective user" + changed);
  setenv("PGSERVICEFILE", services.c_str(), 1);
  const std::string by_file = leaf::HostDefaults(leaf::host_defaults()).host.store_key;
  CHECK_NOTHROW(
      leaf::Store({.url = "service=ids user=" + pguser, .variables = with_other("EUID", by_file)}).tags());
  setenv("HOME", home.c_str(), 1);
  CHECK_NOTHROW(
      leaf::Store({.url = "service=ids user=" + pguser,
                   .variables = with_other("HOME", leaf::HostDefaults(leaf::host_defaults()).host.store_key)})
          .tags());
  unsetenv("PGSERVICEFILE");
  setenv("PGUSER", pguser.c_str(), 1);
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

TEST_CASE("login: what the server warns of is not printed") {
  TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();
  if (database.sql().value("SELECT count(*) FROM pg_attribute WHERE attrelid = 'pg_database'::regclass AND"
                           " attname = 'datcollversion'") == "0") {
    MESSAGE("this server looks at no collations at login");
    return;
  }
  // As after an upgrade of its machine.
  database.sql().run("UPDATE pg_database SET datcollversion = 'another' WHERE datname = current_database()");
  const int before = dup(STDERR_FILENO);
  std::FILE* const printed = std::tmpfile();
  REQUIRE((before >= 0 && printed != nullptr));
  dup2(fileno(printed), STDERR_FILENO);
  CHECK_NOTHROW(leaf::Store({.url = database.url()}).tags());
  const auto seen = lseek(STDERR_FILENO, 0, SEEK_END);
  // Who logs in without a receiver does see it.
  PGconn* const plain = PQconnectdb(database.url().c_str());
  const auto seen_plain = lseek(STDERR_FILENO, 0, SEEK_END);
  PQfinish(plain);
  dup2(before, STDERR_FILENO);
  close(before);
  std::fclose(printed);
  CHECK(seen == 0);
  CHECK(seen_plain > 0);
}

TEST_CASE("login: a program with a locale of its own is told of a server that is down as any other") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  REQUIRE(std::setlocale(LC_ALL, "C.UTF-8") != nullptr);
  setenv("LANGUAGE", "de", 1);  // for which the distribution has a translation of libpq
  const leaf::Error error = login_error("host=127.0.0.1 port=1 dbname=leaf");
  const leaf::Error service = login_error("service=unknown");
  unsetenv("LANGUAGE");
  std::setlocale(LC_ALL, before.c_str());
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.sqlstate() == "57P03");
  CHECK(mentions(error, "Connection refused"));
  CHECK(service.code() == leaf::ErrorCode::usage);
  CHECK(mentions(service, "PGSERVICEFILE"));
}

TEST_CASE("login: an answer may be as long as libpq lets it be") {
  const std::string text = "SFATAL" + std::string(1, '\0') + "C28000" + std::string(1, '\0') + "M" +
                           std::string(29'000, 'x') + std::string(2, '\0');
  std::string answer = "E";
  for (int shift = 24; shift >= 0; shift -= 8) answer += static_cast<char>((text.size() + 4) >> shift & 0xFF);
  const Answering server(answer + text);
  const leaf::Error error = login_error(server.url("sslmode=disable"));
  CHECK(error.code() == leaf::ErrorCode::usage);
  CHECK(error.sqlstate() == "28000");
  CHECK(mentions(error, "pg_hba.conf"));
}

TEST_CASE("login: of a proxy that hangs up the server is waited for") {
  const Answering proxy("");
  leaf::test::ManualClock clock;
  const auto begun = clock.steady_now();
  leaf::Store store(
      {.url = proxy.url("sslmode=disable"), .timeout = std::chrono::seconds(5), .clock = &clock});
  const leaf::Error error = error_of([&] { store.tags(); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(error.sqlstate() == "57P03");
  CHECK(clock.steady_now() - begun > std::chrono::seconds(4));
}
