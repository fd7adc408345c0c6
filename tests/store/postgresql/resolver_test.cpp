#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/interrupted_clock.hpp"
#include "support/postgresql_cluster.hpp"
#include "support/process.hpp"
#include "support/sql_session.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::PostgresqlCluster;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

const leaf::TagName order("order");

bool mentions(const leaf::Error& error, const std::string& text) {
  return (std::string(error.what()) + "\n" + error.hint()).find(text) != std::string::npos;
}

/// How to run a command with a network and mounts of its own.
std::vector<std::string> apart(const std::vector<std::string>& command) {
  std::vector<std::string> words{"unshare", "--mount", "--net"};
  if (geteuid() != 0) words.emplace_back("--map-root-user");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

bool may_be_apart() {
  if (leaf::test::Process(apart({"true"})).wait() == 0) return true;
  MESSAGE("left out: no network of one's own can be had here");
  return false;
}

/// Runs one of the test cases below, that are left out elsewhere, apart.
void run_apart(const std::string& name) {
  if (!may_be_apart()) return;
  leaf::test::Process process(
      apart({std::filesystem::read_symlink("/proc/self/exe").string(), "--no-skip", "--test-case=" + name}));
  const int status = process.wait();
  INFO(process.output());
  CHECK(status == 0);
  CHECK(process.output().find("1 passed") != std::string::npos);
}

/// Makes the only name server one that never answers, and `hosts` all that is known without it.
class SilentNameServer {
 public:
  explicit SilentNameServer(const std::string& hosts)
      : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    ifreq loopback{};
    std::string("lo").copy(loopback.ifr_name, IFNAMSIZ - 1);
    loopback.ifr_flags = IFF_UP | IFF_RUNNING;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(53);
    if (ioctl(socket_, SIOCSIFFLAGS, &loopback) != 0 ||
        bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("no name server can be had");
    put("resolv.conf", "nameserver 127.0.0.1\n");
    put("hosts", hosts);
    put("nsswitch.conf", "hosts: files dns\n");
  }
  ~SilentNameServer() { close(socket_); }
  /// From now on nobody is there to be asked.
  void leave() { close(std::exchange(socket_, -1)); }
  void know(const std::string& hosts) { std::ofstream(folder_.path() / "hosts") << hosts; }
  SilentNameServer(const SilentNameServer&) = delete;
  SilentNameServer& operator=(const SilentNameServer&) = delete;

 private:
  void put(const std::string& name, const std::string& content) {
    const std::string file = (folder_.path() / name).string();
    std::ofstream(file) << content;
    if (mount(file.c_str(), ("/etc/" + name).c_str(), nullptr, MS_BIND, nullptr) != 0)
      throw std::runtime_error("cannot replace /etc/" + name);
  }

  leaf::test::TemporaryFolder folder_;
  int socket_;
};

}  // namespace

TEST_CASE("resolver apart: a silent name server is waited for no longer than the timeout" * doctest::skip()) {
  const SilentNameServer silent("");
  for (const std::string hosts : {"db.example.org", "db1.example.org,db2.example.org,db3.example.org"}) {
    CAPTURE(hosts);
    leaf::Store store({.url = "host=" + hosts + " dbname=ids user=me", .timeout = milliseconds(300)});
    const auto begun = steady_clock::now();
    const leaf::Error error = error_of([&] { store.tags(); });
    CHECK(steady_clock::now() - begun < milliseconds(2000));
    CHECK(error.code() == leaf::ErrorCode::unavailable);
    CHECK(mentions(error, hosts.substr(0, hosts.find(','))));
    CHECK(mentions(error, "name"));
  }
}

TEST_CASE("resolver apart: a name that nobody knows leaves time for the next host" * doctest::skip()) {
  const SilentNameServer silent("127.0.0.9 db.test\n127.0.0.1 db.test\n");
  const PostgresqlCluster cluster("listen_addresses = '127.0.0.1'");
  leaf::Store owner({.url = cluster.url()});
  owner.migrate();
  owner.add_tag({.name = order, .step = 10, .start = {}, .limit = {}, .description = {}});
  const std::string rest = " user=postgres dbname=postgres";
  std::int64_t next = 1;
  for (const std::string& where :
       {"host=silent.example.org," + cluster.host() + " port=5432,5432",
        "host=" + cluster.host() + ",silent.example.org port=5432",
        // All addresses of a name are tried, and its port is that of its place in the list.
        std::string("host=silent.example.org,db.test port=1,5432"), std::string("host=db.test port=5432"),
        std::string("host=db.test hostaddr=127.0.0.1 port=5432"),
        std::string("host=silent.example.org,silent.example.org hostaddr=,127.0.0.1 port=5432"),
        // Where one is left, what says nothing of it must not mean the list.
        std::string("host=no..name,db.test port=,"), std::string("host=127.0.0.1,no..name port=,"),
        std::string("host=no..name,127.0.0.1 hostaddr=, port=5432,")}) {
    CAPTURE(where);
    leaf::Store store({.url = where + rest, .timeout = milliseconds(4000)});
    CHECK(store.grant(order, 5).range == leaf::Range{next, next + 5});
    next += 5;
  }
}

TEST_CASE("resolver apart: a name that nobody can have takes no time from the others" * doctest::skip()) {
  const SilentNameServer silent("");
  const milliseconds timeout(1000);
  leaf::Store store({.url = "host=no..name,silent.example.org dbname=ids user=me", .timeout = timeout});
  const auto begun = steady_clock::now();
  CHECK(error_of([&] { store.tags(); }).code() == leaf::ErrorCode::unavailable);
  CHECK(steady_clock::now() - begun >= timeout);
}

TEST_CASE("resolver apart: who looked up a name before asks the name server the next time too" *
          doctest::skip()) {
  const SilentNameServer silent("");
  // Their threads end, and others begin where they were.
  for (int i = 0; i < 20; ++i)
    CHECK(error_of([] { leaf::Store({.url = "host=no..name dbname=ids"}).tags(); }).code() ==
          leaf::ErrorCode::unavailable);
  const leaf::Error error = error_of([] {
    leaf::Store({.url = "host=silent.example.org dbname=ids", .timeout = milliseconds(300)}).tags();
  });
  CAPTURE(std::string(error.what()));
  CHECK(std::string(error.what()).find("was not resolved in time") != std::string::npos);
}

TEST_CASE("resolver apart: whoever asks again for a name joins who asks already" * doctest::skip()) {
  const SilentNameServer silent("");
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  const auto before = threads();
  for (int i = 0; i < 20; ++i) {
    leaf::Store store({.url = "host=silent.example.org dbname=ids", .timeout = milliseconds(20)});
    CHECK(mentions(error_of([&] { store.tags(); }), "was not resolved in time"));
  }
  CHECK(threads() == before + 1);
}

TEST_CASE("resolver apart: a name server that is away is waited for as a server is" * doctest::skip()) {
  SilentNameServer nobody("");
  const PostgresqlCluster cluster("listen_addresses = '127.0.0.1'");
  leaf::Store({.url = cluster.url()}).migrate();
  nobody.leave();
  leaf::test::InterruptedClock clock;
  clock.interruption = [&] { nobody.know("127.0.0.1 db.test\n"); };
  const std::string url = "host=db.test port=5432 dbname=postgres user=postgres";
  leaf::Store impatient({.url = url, .timeout = milliseconds(0), .clock = &clock});
  CHECK(mentions(error_of([&] { impatient.tags(); }), "could not translate host name"));
  leaf::Store store({.url = url, .timeout = std::chrono::minutes(1), .clock = &clock});
  CHECK(store.tags().empty());
}

TEST_CASE(
    "resolver apart: of servers that are named by their addresses alone the one is found that takes "
    "writes" *
    doctest::skip()) {
  const SilentNameServer silent("");
  const PostgresqlCluster primary("listen_addresses = '127.0.0.1'");
  const PostgresqlCluster other("listen_addresses = '127.0.0.2'\ndefault_transaction_read_only = on");
  leaf::Store owner({.url = primary.url()});
  owner.migrate();
  owner.add_tag({.name = order, .step = 10, .start = {}, .limit = {}, .description = {}});
  unsetenv("PGHOST");  // would be one name for two addresses
  leaf::Store store({.url = "hostaddr=127.0.0.2,127.0.0.1 port=5432 user=postgres dbname=postgres"});
  CHECK(store.grant(order, 5).range == leaf::Range{1, 6});
}

TEST_CASE("resolver: a silent name server is waited for no longer than the timeout, not even at the end") {
  const auto begun = steady_clock::now();
  run_apart("resolver apart: a silent name server*");
  // A look-up goes on for ten seconds by itself.
  CHECK(steady_clock::now() - begun < std::chrono::seconds(8));
}

TEST_CASE("resolver: a name that nobody knows leaves time for the next host") {
  run_apart("resolver apart: a name that nobody knows*");
}

TEST_CASE("resolver: passwords are looked up by the name of the host") {
  leaf::test::TestDatabase database;
  leaf::Store({.url = database.url()}).migrate();
  const leaf::test::TestRole role("LOGIN PASSWORD 'right'");
  const leaf::test::TemporaryFolder folder;
  const std::string file = (folder.path() / "pgpass").string();
  std::ofstream(file) << "127.0.0.1:*:*:*:wrong\n::1:*:*:*:wrong\nlocalhost:*:*:" << role.name()
                      << ":right\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  leaf::Store store(
      {.url = database.url("host=localhost password='' passfile=" + file + " user=" + role.name())});
  const leaf::Error error = error_of([&] { store.tags(); });
  CHECK(error.sqlstate() == "42501");  // logged in, without a right on the tables
}

TEST_CASE("resolver: a name without an address is named with what the resolver said") {
  leaf::Store store({.url = "host=no-such-host.invalid dbname=leaf", .timeout = std::chrono::seconds(20)});
  const leaf::Error error = error_of([&] { store.tags(); });
  CHECK(error.code() == leaf::ErrorCode::unavailable);
  CHECK(mentions(error, "could not translate host name \"no-such-host.invalid\" to address"));
}

TEST_CASE("resolver: a name that nobody can have takes no time from the others") {
  run_apart("resolver apart: a name that nobody can have*");
}

TEST_CASE("resolver: who looked up a name before asks the name server the next time too") {
  run_apart("resolver apart: who looked up a name before*");
}

TEST_CASE("resolver: whoever asks again for a name joins who asks already") {
  run_apart("resolver apart: whoever asks again*");
}

TEST_CASE("resolver: a name server that is away is waited for as a server is") {
  run_apart("resolver apart: a name server that is away*");
}

TEST_CASE("resolver: of servers that are named by their addresses alone the one is found that takes writes") {
  run_apart("resolver apart: of servers that are named by their addresses*");
}

TEST_CASE("resolver: a name without an address is named, too, where another server refuses") {
  leaf::Store store(
      {.url = "host=no..name,127.0.0.1 port=1 dbname=leaf user=me", .timeout = milliseconds(0)});
  const leaf::Error error = error_of([&] { store.tags(); });
  CHECK(mentions(error, "could not translate host name \"no..name\" to address"));
  CHECK(mentions(error, "Connection refused"));
}

TEST_CASE("resolver: a socket in the abstract namespace is no name") {
  PostgresqlCluster cluster;
  const std::string socket = "@leaf-test-" + std::to_string(getpid());
  {
    leaf::test::SqlSession administrator(cluster.url());
    if (std::stoi(administrator.value("SHOW server_version_num")) < 140'000) return;
    administrator.run("ALTER SYSTEM SET unix_socket_directories = '" + cluster.host() + "', '" + socket +
                      "'");
  }
  cluster.stop(PostgresqlCluster::Stop::fast);
  cluster.start();
  CHECK(leaf::Store({.url = "host=" + socket + " port=5432 user=postgres dbname=postgres"}).migrate().size() >
        0);
}
