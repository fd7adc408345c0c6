// The server as a whole, as its clients and the service manager have it: each in a child process, at Unix
// sockets.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "serve/server.hpp"
#include "support/sqlite_session.hpp"
#include "support/sqlite_store.hpp"
#include "support/temporary_folder.hpp"
#include "support/wait_for.hpp"

namespace {

using namespace leafctl::serve;
using leaf::test::SqliteSession;
using leaf::test::SqliteStore;
using leaf::test::wait_for;
using std::chrono::milliseconds;

/// What a server's process does, counted where the test sees it.
struct Doings {
  std::atomic<long> sleeps{0};  ///< waits for whatever may come, with nothing there yet
  std::atomic<long> pauses{0};
};

/// Null in the test itself.
Doings* doings = nullptr;

}  // namespace

// In place of the C library's.
extern "C" int epoll_wait(int set, epoll_event* events, int most, int timeout) {
  if (doings != nullptr && timeout != 0) {
    const int count = epoll_pwait(set, events, most, 0, nullptr);
    if (count != 0) return count;
    doings->sleeps.fetch_add(1);
  }
  return epoll_pwait(set, events, most, timeout, nullptr);
}

extern "C" int nanosleep(const timespec* duration, timespec* rest) {
  if (doings != nullptr) doings->pauses.fetch_add(1);
  const int error = clock_nanosleep(CLOCK_REALTIME, 0, duration, rest);
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}

namespace {

/// A client, which waits for no answer for ever.
class Client {
 public:
  explicit Client(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    const timeval bound{.tv_sec = leaf::test::patience.count(), .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
    REQUIRE(connect(socket_, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// False if the server has ended the connection.
  bool send(std::string_view text) {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  void end_sending() { shutdown(socket_, SHUT_WR); }
  /// As much as came, up to `size`, and at least something unless it was the end.
  std::string read_some(std::size_t size = 65536) {
    std::string text(size, '\0');
    const ssize_t count = recv(socket_, text.data(), size, 0);
    text.resize(static_cast<std::size_t>(count > 0 ? count : 0));
    return text;
  }
  std::string read_line() {
    std::string line;
    while (!line.ends_with("\r\n")) {
      const std::string piece = read_some(1);
      if (piece.empty()) break;
      line += piece;
    }
    return line;
  }
  std::string read_all() {
    std::string text;
    for (std::string piece = read_some(); !piece.empty(); piece = read_some()) text += piece;
    return text;
  }
  std::string ask(std::string_view text) {
    send(text);
    return read_line();
  }
  /// Whether the server has read all that was sent.
  bool is_taken() const {
    int unread = 0;
    return ioctl(socket_, SIOCOUTQ, &unread) == 0 && unread == 0;
  }
  bool is_ended() const {
    pollfd watched{socket_, POLLRDHUP, 0};
    return poll(&watched, 1, 0) > 0 && watched.revents != 0;
  }

 private:
  const int socket_;
};

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// A server of a store with the tags order and invoice.
class TestServer {
 public:
  using Change = std::function<void(Options&)>;

  TestServer() {
    leaf::Store admin = store.open();
    leaf::test::add_tag(admin, "order", 1000);
    leaf::test::add_tag(admin, "invoice", 1000);
  }
  ~TestServer() {
    if (process_ == 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    munmap(doings_, sizeof(Doings));
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  /// Returns when it listens.
  void start(const Change& change = [](Options&) {}) {
    void* const shared =
        mmap(nullptr, sizeof(Doings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    doings_ = new (shared) Doings;
    process_ = fork();
    REQUIRE(process_ != -1);
    if (process_ == 0) serve(change);
    REQUIRE(until_said("listening for redis"));
  }
  pid_t process() const { return process_; }
  const Doings& doings() const { return *doings_; }
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
  std::string http() const { return path("http"); }
  std::string redis() const { return path("redis"); }
  std::string log() const { return text_of(path("log")); }

  /// What is answered to a request with these header fields, until the end of the connection.
  std::string get(const std::string& target, const std::string& fields = {}) const {
    Client client(http());
    client.send("GET " + target + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + fields + "\r\n");
    return client.read_all();
  }
  std::string status_of(const std::string& target, const std::string& fields = {}) const {
    return get(target, fields).substr(0, 12);
  }
  bool until_said(const std::string& text) const {
    return wait_for([&] { return text_of(path("said")).find(text) != std::string::npos; });
  }
  void signal(int number) const { kill(process_, number); }
  /// Waits for its end: its status, or 128 and the signal's number.
  int wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::ptrdiff_t open_files() const {
    return std::distance(std::filesystem::directory_iterator("/proc/" + std::to_string(process_) + "/fd"),
                         {});
  }
  std::string write_tokens(const std::string& content) const {
    const std::string file = path("tokens");
    std::ofstream(file) << content;
    REQUIRE(chmod(file.c_str(), 0600) == 0);
    return file;
  }

  SqliteStore store;

 private:
  [[noreturn]] void serve(const Change& change) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::doings = doings_;
    int status = 0;
    try {
      std::signal(SIGPIPE, SIG_IGN);
      const int said = open(path("said").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      const auto say = [said](std::string_view text) {
        const std::string line = std::string(text) + "\n";
        if (write(said, line.data(), line.size()) < 0) _exit(9);
      };
      Options options;
      options.http = {"unix:" + http()};
      options.redis = {"unix:" + redis()};
      options.max_connections = 1000;
      options.max_count = 10'000;
      options.idle_timeout = std::chrono::hours(1);
      options.request_timeout = std::chrono::hours(1);
      options.store = store.options();
      options.snowflakes.worker.owner = "server";
      options.overview = {.metrics = [] { return std::string(); },
                          .status = [] { return std::string("{}"); },
                          .cache_page = [] { return std::string(); },
                          .store_page = [] { return std::string(); },
                          .decode = [](const leaf::Layout&, std::int64_t) { return std::string("{}"); }};
      options.inform = say;
      options.warn = [say](std::string_view text, std::string_view) { say(text); };
      change(options);
      Server::block_signals();
      Server(std::move(options)).run();
    } catch (...) {
      status = 8;
    }
    _exit(status);
  }

  leaf::test::TemporaryFolder folder_;
  Doings* doings_ = nullptr;
  pid_t process_ = 0;
};

/// Holds the write lock of a store, as another process would.
class WriteLock {
 public:
  explicit WriteLock(const SqliteStore& store) : session_(store.path()) {
    REQUIRE(session_.run("BEGIN IMMEDIATE"));
  }
  void release() { session_.close(); }

 private:
  SqliteSession session_;
};

#ifdef __SANITIZE_THREAD__
constexpr bool is_blind_after_fork = true;  // to locks that fork() has taken and let go
#else
constexpr bool is_blind_after_fork = false;
#endif

const std::string ok = "HTTP/1.1 200";
const std::string unauthorized = "HTTP/1.1 401";
const std::string forbidden = "HTTP/1.1 403";

}  // namespace

TEST_SUITE_BEGIN("server" * doctest::skip(is_blind_after_fork));

TEST_CASE("server: SIGTERM has it answer what is in hand, and end with 0") {
  for (const int number : {SIGTERM, SIGINT}) {
    CAPTURE(number);
    TestServer server;
    server.start();
    WriteLock lock(server.store);
    Client client(server.redis());
    Client last(server.redis());
    Client idle(server.redis());
    CHECK(client.ask("PING\r\nINCR order\r\nPING\r\n") == "+PONG\r\n");
    CHECK(last.ask("PING\r\nINCR invoice\r\n") == "+PONG\r\n");
    server.signal(number);
    REQUIRE(server.until_said("stopping"));
    CHECK(idle.read_all().empty());
    lock.release();
    CHECK(client.read_all() == ":1\r\n+PONG\r\n");
    CHECK(last.read_all() == ":1\r\n");
    CHECK(server.wait() == 0);
    CHECK_FALSE(std::filesystem::exists(server.http()));
    CHECK_FALSE(std::filesystem::exists(server.redis()));
  }
}

TEST_CASE("server: what had come before SIGTERM is answered, also where it was not read yet") {
  TestServer server;
  server.start();
  WriteLock lock(server.store);
  Client client(server.redis());
  client.send("INCR order\r\n");
  CHECK(wait_for([&] { return client.is_taken(); }));
  client.send("INCR invoice\r\nINCR invoice\r\n");  // which is not read while the first one waits
  server.signal(SIGTERM);
  REQUIRE(server.until_said("stopping"));
  lock.release();
  CHECK(client.read_all() == ":1\r\n:1\r\n:2\r\n");
  CHECK(server.wait() == 0);
}

TEST_CASE("server: the service manager hears when it serves, that it lives, and that it stops") {
  TestServer server;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  server.path("notify").copy(name.sun_path, sizeof name.sun_path - 1);
  const int manager = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const timeval bound{.tv_sec = leaf::test::patience.count(), .tv_usec = 0};
  setsockopt(manager, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  REQUIRE(bind(manager, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
  const auto heard = [&] {
    char text[200];
    const ssize_t size = recv(manager, text, sizeof text, 0);
    return std::string(text, static_cast<std::size_t>(size > 0 ? size : 0));
  };
  server.start([&](Options&) {
    setenv("NOTIFY_SOCKET", server.path("notify").c_str(), 1);
    setenv("WATCHDOG_USEC", "20000", 1);
  });
  CHECK(heard() == "READY=1\nSTATUS=serving");
  CHECK(Client(server.redis()).ask("PING\r\n") == "+PONG\r\n");
  for (int i = 0; i < 3; ++i) CHECK(heard() == "WATCHDOG=1");
  server.signal(SIGTERM);
  std::string last = heard();
  while (last == "WATCHDOG=1") last = heard();
  CHECK(last == "STOPPING=1\nSTATUS=finishing pending requests");
  CHECK(server.wait() == 0);
  close(manager);
}

TEST_CASE("server: who asks twice to end does not wait for answers") {
  TestServer server;
  server.start([](Options& options) { options.store.timeout = std::chrono::minutes(10); });
  const WriteLock lock(server.store);
  Client client(server.redis());
  CHECK(client.ask("PING\r\nINCR order\r\n") == "+PONG\r\n");
  server.signal(SIGTERM);
  REQUIRE(server.until_said("stopping"));
  server.signal(SIGTERM);
  CHECK(server.wait() == 128 + SIGTERM);
}

TEST_CASE("server: SIGHUP has it read tokens again, and keep those of before where they are wrong") {
  TestServer server;
  server.start([&](Options& options) { options.token_file = server.write_tokens("the-first-one\n"); });
  Client open(server.redis());
  CHECK(open.ask("AUTH the-first-one\r\n") == "+OK\r\n");
  CHECK(open.ask("INCR order\r\n") == ":1\r\n");
  server.write_tokens("short\n");
  server.signal(SIGHUP);
  REQUIRE(server.until_said("the configuration was not reloaded"));
  CHECK(open.ask("INCR order\r\n") == ":2\r\n");
  CHECK(server.status_of("/v1/tags/order/next") == unauthorized);
  server.write_tokens("the-second-one\n");
  server.signal(SIGHUP);
  REQUIRE(server.until_said("configuration reloaded"));
  CHECK(open.ask("LEAF.DECODE 1\r\n").starts_with("-NOAUTH"));
  CHECK(open.ask("INCR order\r\n").starts_with("-NOAUTH"));
  CHECK(server.status_of("/v1/tags/order/next", "Authorization: Bearer the-first-one\r\n") == unauthorized);
  CHECK(server.status_of("/v1/tags/order/next", "Authorization: Bearer the-second-one\r\n") == ok);
  server.signal(SIGTERM);
  CHECK(server.wait() == 0);
}

TEST_CASE("server: a request that does not end is answered 408, however steadily it comes") {
  TestServer server;
  server.start([](Options& options) { options.request_timeout = milliseconds(200); });
  Client silent(server.http());
  silent.send("GET / HTTP/1.1\r\nA: ");
  CHECK(silent.read_all().starts_with("HTTP/1.1 408 "));
  Client slow(server.redis());
  Client other(server.redis());
  // One byte for every twenty answers to somebody else: long before the word is whole it is too late.
  std::string sent = "*1\r\n$16000\r\n";
  slow.send(sent);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!slow.is_ended() && std::chrono::steady_clock::now() < until && slow.send("a")) {
    for (int i = 0; i < 20; ++i) REQUIRE(other.ask("PING\r\n") == "+PONG\r\n");
  }
  CHECK(slow.is_ended());
  CHECK(slow.read_all() == "-ERR Protocol error: the command did not arrive in time\r\n");
}

TEST_CASE("server: a line end behind a request is not the begin of one that does not end") {
  TestServer server;
  server.start([](Options& options) { options.request_timeout = milliseconds(200); });
  Client other(server.http());
  const std::string request = "POST /v1/tags/order/next HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
  Client posting(server.http());
  CHECK(posting.ask(request + "\r\n") == "HTTP/1.1 200 OK\r\n");
  // By the time that a later one is late, so would this one be.
  other.send("GET / HTTP/1.1\r\nA: ");
  CHECK(other.read_all().starts_with("HTTP/1.1 408 "));
  CHECK_FALSE(posting.is_ended());
  posting.send(request);
  CHECK(wait_for([&] { return posting.read_line().ends_with("HTTP/1.1 200 OK\r\n"); }));
}

TEST_CASE("server: whoever does not take an answer, or says nothing for long, is left") {
  TestServer server;
  server.start([](Options& options) {
    options.max_count = 1'000'000;
    options.request_timeout = milliseconds(50);
  });
  Client client(server.redis());
  client.send("LEAF.NEXT order 1000000\r\n");
  CHECK(wait_for([&] { return client.is_ended(); }, std::chrono::seconds(20)));
  TestServer impatient;
  impatient.start([](Options& options) { options.idle_timeout = milliseconds(50); });
  Client silent(impatient.redis());
  CHECK(wait_for([&] { return silent.is_ended(); }, std::chrono::seconds(20)));
}

TEST_CASE(
    "server: with pauses between looks IDs stay unique, answers come, and it sleeps while nobody asks") {
  TestServer server;
  server.start([](Options& options) { options.coalesce = std::chrono::microseconds(20); });
  Client client(server.redis());
  CHECK(client.ask("PING\r\n") == "+PONG\r\n");
  std::set<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    const long before = server.doings().sleeps;
    const long pauses = server.doings().pauses;
    ids.insert(client.ask("INCR order\r\n"));
    REQUIRE(wait_for([&] { return server.doings().sleeps > before; }, std::chrono::seconds(10)));
    CHECK(server.doings().pauses > pauses);
  }
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(std::make_unique<Client>(server.redis()));
  for (int i = 0; i < 100; ++i) {
    for (const auto& one : clients) one->send("INCR order\r\n");
  }
  for (const auto& one : clients) {
    for (int i = 0; i < 100; ++i) ids.insert(one->read_line());
  }
  CHECK(ids.size() == 420);
  const long before = server.doings().sleeps;
  CHECK(client.ask("PING\r\n") == "+PONG\r\n");
  CHECK(wait_for([&] { return server.doings().sleeps > before; }, std::chrono::seconds(10)));
}

TEST_CASE("server: without pauses there are none") {
  TestServer server;
  server.start();
  Client client(server.redis());
  for (int i = 1; i <= 20; ++i) CHECK(client.ask("INCR order\r\n") == ":" + std::to_string(i) + "\r\n");
  CHECK(server.doings().pauses == 0);
}

TEST_CASE("server: a token draws only from what it stands for, whatever is asked") {
  TestServer server;
  server.start([&](Options& options) {
    options.token_file = server.write_tokens("all-of-them\norder-alone order\nflakes-alone @snowflake\n");
    options.access_log = server.path("log");
  });
  const std::string of_order[] = {"/v1/tags/order/next", "/v1/tags/%6frder/next?n=2",
                                  "/api/segment/get/order"};
  const std::string of_invoice[] = {"/v1/tags/invoice/next", "/v1/tags/%69nvoice/next?n=2",
                                    "/api/segment/get/invoice", "/api/segment/get/%69nvoice"};
  const std::string of_snowflakes[] = {"/v1/snowflake/next", "/v1/snowflake/next?n=2",
                                       "/api/snowflake/get/order"};
  const auto bearer = [](const std::string& token) { return "Authorization: Bearer " + token + "\r\n"; };
  const auto check_all = [&](const auto& paths, const std::string& token, const std::string& status) {
    for (const std::string& path : paths) {
      CAPTURE(path);
      CAPTURE(token);
      CHECK(server.status_of(path, token.empty() ? "" : bearer(token)) == status);
    }
  };
  for (const char* const token : {"", "order-alonf", "order-alon", "order"}) {
    check_all(of_order, token, unauthorized);
    check_all(of_snowflakes, token, unauthorized);
  }
  check_all(of_order, "order-alone", ok);
  check_all(of_invoice, "order-alone", forbidden);
  check_all(of_snowflakes, "order-alone", forbidden);
  check_all(of_order, "flakes-alone", forbidden);
  check_all(of_snowflakes, "flakes-alone", ok);
  check_all(of_invoice, "all-of-them", ok);
  const std::string shown[] = {"/metrics", "/v1/status", "/v1/decode/1", "/v1/bounds?from=now",
                               "/cache",   "/db"};
  check_all(shown, "", unauthorized);
  check_all(shown, "order-alone", ok);
  for (const char* const path : {"nextId", "nextIdSimple", "nextSegmentId", "nextSegmentIdSimple"}) {
    CAPTURE(path);
    const auto drawn = [&](const std::string& tag, const std::string& token) {
      const std::string answer =
          server.get(std::string("/tinyid/id/") + path + "?bizType=" + tag + "&token=" + token);
      const std::string body = answer.substr(answer.find("\r\n\r\n") + 4);
      return !body.empty() && body.find("\"data\":null") == std::string::npos;
    };
    CHECK(drawn("order", "order-alone"));
    CHECK_FALSE(drawn("invoice", "order-alone"));
    CHECK_FALSE(drawn("order", "wrong-token"));
    CHECK_FALSE(drawn("order", ""));
  }

  const std::string draws[] = {"INCR invoice",        "INCRBY invoice 2",     "LEAF.NEXT invoice",
                               "LEAF.NEXT invoice 2", "LEAF.RANGE invoice 2", "LEAF.SNOWFLAKE",
                               "LEAF.SNOWFLAKE 2"};
  Client client(server.redis());
  for (const std::string& command : draws) CHECK(client.ask(command + "\r\n").starts_with("-NOAUTH"));
  for (const char* const command : {"MULTI", "EXEC", "EVAL x 0"})
    CHECK(client.ask(std::string(command) + "\r\n").starts_with("-ERR unknown command"));
  CHECK(client.ask("AUTH wrong-token\r\n").starts_with("-WRONGPASS"));
  CHECK(client.ask("HELLO 3 AUTH default wrong-token\r\n").starts_with("-WRONGPASS"));
  CHECK(client.ask("AUTH default order-alone\r\n") == "+OK\r\n");
  for (const std::string& command : draws) {
    CAPTURE(command);
    CHECK(client.ask(command + "\r\n").starts_with("-NOPERM"));
  }
  CHECK(client.ask("INCRBY order 2\r\n").starts_with(":"));
  CHECK(client.ask("RESET\r\n") == "+RESET\r\n");
  CHECK(client.ask("INCR order\r\n").starts_with("-NOAUTH"));
  CHECK(client.ask("AUTHS all-of-them\r\n").starts_with("-ERR unknown command"));

  server.signal(SIGTERM);
  CHECK(server.wait() == 0);
  const std::string log = server.log();
  CHECK(log.find("\"command\":\"auth\"") != std::string::npos);
  CHECK(log.find("/tinyid/id/nextId") != std::string::npos);
  for (const char* const token :
       {"all-of-them", "order-alone", "flakes-alone", "wrong-token", "order-alonf"}) {
    CAPTURE(token);
    CHECK(log.find(token) == std::string::npos);
  }
}

TEST_CASE("server: why it is not ready is for those who have a token, and its status for everybody") {
  TestServer server;
  server.start([&](Options& options) {
    options.token_file = server.write_tokens("all-of-them\norder-alone order\n");
    options.store.timeout = {};
  });
  const std::string wrong = "Authorization: Bearer wrong-token\r\n";
  for (const std::string& fields : {std::string(), wrong}) CHECK(server.status_of("/readyz", fields) == ok);
  std::filesystem::rename(server.store.path(), server.store.path() + ".away");
  for (const std::string& fields : {std::string(), wrong}) {
    CAPTURE(fields);
    const std::string answer = server.get("/readyz", fields);
    CHECK(answer.starts_with("HTTP/1.1 503"));
    CHECK(answer.find("Retry-After: 1\r\n") != std::string::npos);
    CHECK(answer.substr(answer.find("\r\n\r\n") + 4) ==
          "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\"code\":"
          "\"unavailable\"}\n");
  }
  for (const char* const token : {"all-of-them", "order-alone"}) {
    CAPTURE(token);
    const std::string answer = server.get("/readyz", "Authorization: Bearer " + std::string(token) + "\r\n");
    CHECK(answer.starts_with("HTTP/1.1 503"));
    CHECK(answer.find(server.store.path()) != std::string::npos);
  }
}

TEST_CASE("server: a form in the body has parameters as the query does") {
  TestServer server;
  server.start();
  const auto post = [&](const std::string& target, const std::string& body,
                        const std::string& type = "application/x-www-form-urlencoded") {
    Client client(server.http());
    client.send("POST " + target + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: " + type +
                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    const std::string answer = client.read_all();
    return answer.substr(9, 4) + answer.substr(answer.find("\r\n\r\n") + 4);
  };
  const std::string order = "/v1/tags/order/next";
  CHECK(post(order, "n=2") == "200 {\"tag\":\"order\",\"ids\":[\"1\",\"2\"]}\n");
  CHECK(post(order, "form=%74ext&n=%32", "Application/X-WWW-Form-Urlencoded; charset=utf-8") == "200 3\n4\n");
  CHECK(post(order + "?n=1", "n=2&form=text") == "200 5\n");  // the query comes first
  CHECK(post(order, "n=2", "text/plain") == "200 {\"tag\":\"order\",\"ids\":[\"6\"]}\n");
  CHECK(post("/v1/snowflake/next", "n=3&form=text").size() == 4 + 3 * 20);
  for (const char* const body : {"n=0", "n=-1", "n=10001", "n=x", "n=", "n=+1", "n=%zz", "n=%", "n=%ff",
                                 "form=x", "form=", "form=%zz", "n=1&form=ids%00"}) {
    CAPTURE(body);
    CHECK(post(order, body).starts_with("400 "));
    CHECK(post("/v1/snowflake/next", body).starts_with("400 "));
  }
  CHECK(post(order, "form=text") == "200 7\n");
}

TEST_CASE("server: counts out of bounds are refused, and cost no ID") {
  TestServer server;
  server.start();
  for (const char* const count : {"0", "-1", "10001", "9223372036854775808", "x", "", "1e3", "+1"}) {
    CAPTURE(count);
    CHECK(server.status_of("/v1/tags/order/next?n=" + std::string(count)) == "HTTP/1.1 400");
    CHECK(server.status_of("/v1/snowflake/next?n=" + std::string(count)) == "HTTP/1.1 400");
  }
  Client client(server.redis());
  for (const char* const count : {"0", "-1", "10001", "9223372036854775808", "x", "1e3", "+1"}) {
    CAPTURE(count);
    for (const char* const command :
         {"INCRBY order ", "LEAF.NEXT order ", "LEAF.RANGE order ", "LEAF.SNOWFLAKE "})
      CHECK(client.ask(command + std::string(count) + "\r\n").starts_with("-ERR value is "));
  }
  CHECK(client.ask("INCR order\r\n") == ":1\r\n");
}

TEST_CASE("server: pipelined requests are answered in their order, and who asks HEAD gets no body") {
  TestServer server;
  server.start();
  Client client(server.http());
  client.send(
      "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\nHEAD /api/segment/get/order HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /api/segment/get/order HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
      "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\nGET /api/segment/get/order HTTP/1.0\r\nConnection: "
      "keep-alive\r\n\r\n"
      "GET /api/segment/get/order HTTP/1.0\r\n\r\nGET /api/segment/get/order HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string all = client.read_all();
  std::string seen;
  for (std::size_t at = 0, end = 0; at < all.size(); at = end) {
    const std::size_t head = all.find("\r\n\r\n", at) + 4;
    REQUIRE(head > at + 4);
    end = all.find("HTTP/1.", head);
    if (end == std::string::npos) end = all.size();
    seen += all.substr(at + 9, 3) + ":" + (end - head < 20 ? all.substr(head, end - head) : "...") + " ";
  }
  CHECK(seen == "200:ready\n 200: 200:1 404:... 200:2 200:3 ");
  // A length would be that of the answer to GET, which nobody knows.
  Client asking(server.http());
  asking.send("HEAD /v1/tags/order/next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string head = asking.read_all();
  CHECK(head.starts_with(ok));
  CHECK(head.find("Content-Length") == std::string::npos);
}

TEST_CASE("server: no request is handled before one that waits, also where answers are taken late") {
  TestServer server;
  // Two lists are more than the socket takes at once, and too few for the server to stop handling requests.
  server.store.open().add_tag({.name = leaf::TagName("big"), .step = 1'000'000, .start = 100'000'000});
  server.start();
  Client client(server.redis());
  CHECK(client.ask("INCR big\r\n") == ":100000000\r\n");
  WriteLock lock(server.store);
  client.send("LEAF.NEXT big 10000\r\nLEAF.NEXT big 10000\r\nINCR order\r\nINCR big\r\nPING\r\n");
  CHECK(wait_for([&] { return client.is_taken(); }));
  for (int list = 0; list < 2; ++list) {
    CHECK(client.read_line() == "*10000\r\n");
    for (int id = 0; id < 10'000; ++id) client.read_line();
  }
  lock.release();
  CHECK(client.read_line() == ":1\r\n");
  CHECK(client.read_line() == ":100020001\r\n");
  CHECK(client.read_line() == "+PONG\r\n");
  CHECK(client.ask("INCR order\r\n") == ":2\r\n");
}

TEST_CASE("server: whoever waits for leave to send a body gets it, once for each request") {
  TestServer server;
  server.start();
  Client client(server.http());
  for (const char* const id : {"1", "2"}) {
    client.send(
        "POST /v1/tags/order/next HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Type: "
        "application/x-www-form-urlencoded\r\nContent-Length: 13\r\n\r\n");
    CHECK(client.read_line() == "HTTP/1.1 100 Continue\r\n");
    CHECK(client.read_line() == "\r\n");
    for (const char* const piece : {"n=1", "&for", "m=te", "xt"}) {
      client.send(piece);
      CHECK(wait_for([&] { return client.is_taken(); }));
    }
    CHECK(client.read_line() == "HTTP/1.1 200 OK\r\n");
    for (std::string line = client.read_line(); line.size() > 2; line = client.read_line()) {
    }
    CHECK(client.read_some(1) == id);
    CHECK(client.read_some(1) == "\n");
  }
  // HTTP/1.0 knows no such leave.
  client.send("POST /v1/tags/order/next HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
  client.send("x");
  CHECK(client.read_line() == "HTTP/1.1 200 OK\r\n");
}

TEST_CASE("server: what Redis' clients ask when they connect is answered as Redis does") {
  TestServer server;
  server.start();
  Client client(server.redis());
  // Each answer is told from the one behind it.
  const auto told = [&](const std::string& command) {
    client.send(command + "\r\nECHO (end)\r\n");
    std::string text;
    while (!text.ends_with("$5\r\n(end)\r\n")) {
      const std::string piece = client.read_some();
      if (piece.empty()) return text + "(nothing more)";
      text += piece;
    }
    text.resize(text.size() - 11);
    return text;
  };
  const std::string incr =
      "*6\r\n$4\r\nincr\r\n:2\r\n*3\r\n+write\r\n+denyoom\r\n+fast\r\n:1\r\n:1\r\n:1\r\n";
  CHECK(told("PING hello") == "$5\r\nhello\r\n");
  CHECK(told("PING a b").starts_with("-ERR wrong number of arguments for 'ping'"));
  CHECK(told("SELECT 0") == "+OK\r\n");
  CHECK(told("SELECT 1") == "-ERR DB index is out of range\r\n");
  CHECK(told("SELECT x").starts_with("-ERR value is not an integer"));
  CHECK(told("CLIENT GETNAME") == "$-1\r\n");
  CHECK(told("CLIENT SETNAME shop") == "+OK\r\n");
  CHECK(told("CLIENT GETNAME") == "$4\r\nshop\r\n");
  CHECK(told("CLIENT SETINFO lib-name x") == "+OK\r\n");
  CHECK(told("CLIENT INFO").find(" name=shop db=0 resp=2\n") != std::string::npos);
  CHECK(told("CLIENT ID").starts_with(":"));
  CHECK(told("CLIENT KILL") == "-ERR unknown subcommand 'KILL'.\r\n");
  CHECK(told("COMMAND COUNT") == ":17\r\n");
  CHECK(told("COMMAND").starts_with("*17\r\n" + incr));
  CHECK(told("COMMAND INFO incr nothing ping") ==
        "*3\r\n" + incr + "$-1\r\n*6\r\n$4\r\nping\r\n:-1\r\n*1\r\n+fast\r\n:0\r\n:0\r\n:0\r\n");
  CHECK(told("COMMAND DOCS") == "*0\r\n");
  CHECK(told("COMMAND LIST") == "-ERR unknown subcommand 'LIST'.\r\n");
  CHECK(told("CONFIG GET save appendonly other") ==
        "*4\r\n$4\r\nsave\r\n$0\r\n\r\n$10\r\nappendonly\r\n$2\r\nno\r\n");
  CHECK(told("CONFIG SET save x") == "-ERR unknown subcommand 'SET'.\r\n");
  CHECK(told("LEAF.DECODE -1") == "-ERR no ID of layout 'leaf' can be -1\r\n");
  CHECK(told("HELLO 4").starts_with("-NOPROTO"));
  CHECK(told("HELLO 3 NAME x") == "-ERR syntax error in HELLO\r\n");
  CHECK(told("CLIENT GETNAME") == "$4\r\nshop\r\n");  // still in the protocol of before
  CHECK(told("HELLO 3 SETNAME other").starts_with("%7\r\n$6\r\nserver\r\n$7\r\nleafctl\r\n"));
  CHECK(told("CLIENT GETNAME") == "$5\r\nother\r\n");
  CHECK(told("CONFIG GET save") == "%1\r\n$4\r\nsave\r\n$0\r\n\r\n");
  CHECK(told("COMMAND INFO nothing") == "*1\r\n_\r\n");
  CHECK(told("RESET") == "+RESET\r\n");
  CHECK(told("CLIENT GETNAME") == "$-1\r\n");
  client.send("QUIT\r\n");
  CHECK(client.read_all() == "+OK\r\n");
}

TEST_CASE("server: who comes when all connections are taken is turned away, until one is free") {
  TestServer server;
  server.start([](Options& options) { options.max_connections = 2; });
  Client watching(server.http());
  const auto turned_away = [&] {
    watching.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    std::string text;
    while (text.find("\nleafctl_serve_waiting_requests ") == std::string::npos || !text.ends_with('\n')) {
      const std::string piece = watching.read_some();
      if (piece.empty()) break;
      text += piece;
    }
    const std::string name = "leafctl_serve_rejected_connections_total{protocol=\"redis\"} ";
    const std::size_t at = text.find(name);
    return at == std::string::npos ? "none" : text.substr(at + name.size(), 1);
  };
  CHECK(turned_away() == "0");
  {
    Client taken(server.redis());
    CHECK(taken.ask("PING\r\n") == "+PONG\r\n");
    Client late(server.redis());
    CHECK(wait_for([&] { return late.is_ended(); }));
    CHECK(late.read_all().empty());
    CHECK(turned_away() == "1");
    CHECK(taken.ask("PING\r\n") == "+PONG\r\n");
  }
  CHECK(wait_for([&] { return Client(server.redis()).ask("PING\r\n") == "+PONG\r\n"; }));
}

TEST_CASE("server: of many who come at once no more are taken than may be, however many threads there are") {
  constexpr std::ptrdiff_t most = 20;
  TestServer server;
  server.start([](Options& options) {
    options.max_connections = most;
    options.threads = 8;
  });
  server.signal(SIGSTOP);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(std::make_unique<Client>(server.redis()));
  server.signal(SIGCONT);
  CHECK(std::ranges::count_if(clients, [](auto& one) { return one->ask("PING\r\n") == "+PONG\r\n"; }) ==
        most);
}

TEST_CASE("server: all who wait for IDs of a tag are told when the store gives none") {
  TestServer server;
  server.start([](Options& options) { options.segments.timeout = milliseconds(300); });
  WriteLock lock(server.store);
  Client first(server.redis());
  Client second(server.redis());
  Client third(server.http());
  first.send("INCR order\r\n");
  second.send("INCR order\r\nPING\r\n");
  third.send("GET /v1/tags/order/next HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string told = first.read_line();
  CHECK(told.starts_with("-TRYAGAIN "));
  CHECK(told.find("the answer did not come in time") == std::string::npos);
  CHECK(second.read_line() == told);
  CHECK(second.read_line() == "+PONG\r\n");
  CHECK(third.read_line() == "HTTP/1.1 503 Service Unavailable\r\n");
  lock.release();
  CHECK(second.ask("INCR order\r\n").starts_with(':'));
}

TEST_CASE("server: clients that vanish leave no descriptor behind, whatever they waited for") {
  TestServer server;
  server.start();
  {
    Client first(server.redis());
    CHECK(first.ask("INCR invoice\r\n") == ":1\r\n");
  }
  const std::ptrdiff_t before = server.open_files();
  WriteLock lock(server.store);
  for (int i = 0; i < 50; ++i) {
    Client of_redis(server.redis());
    Client of_http(server.http());
    Client asking(server.http());
    of_redis.send("INCR order\r\nINCR order\r\n");
    of_http.send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/ta");
    asking.send("GET /v1/tags/order/next HTTP/1.1\r\nHost: a\r\n\r\n");
    Client gone(server.http());
  }
  lock.release();
  // Connections to the store for readiness, as many as there were at once, stay.
  CHECK(wait_for([&] { return server.open_files() <= before + 30; }, std::chrono::seconds(20)));
  Client client(server.redis());
  CHECK(client.ask("INCR invoice\r\n") == ":2\r\n");
}

TEST_SUITE_END();
