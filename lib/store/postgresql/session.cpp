#include "store/postgresql/session.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <future>
#include <string_view>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "store/connection.hpp"
#include "store/fork_guard.hpp"
#include "store/made_once.hpp"
#include "store/no_signals.hpp"
#include "store/postgresql/login_errors.hpp"
#include "store/postgresql/resolver.hpp"
#include "store/postgresql/servers.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"
#include "text/shortage.hpp"

namespace leaf::store::postgresql {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct FreeOptions {
  void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

struct FreeCancel {
  void operator()(PGcancel* request) const noexcept { PQfreeCancel(request); }
};

std::string option(const PQconninfoOption* options, std::string_view keyword,
                   char* PQconninfoOption::*what = &PQconninfoOption::val) {
  for (; options != nullptr && options->keyword != nullptr; ++options) {
    if (keyword == options->keyword) return options->*what != nullptr ? options->*what : "";
  }
  return {};
}

struct Parameter {
  const char* keyword;
  std::string value;
};

Error out_of_memory() {
  return {ErrorCode::unavailable, "out of memory", shortage_hint(ENOMEM)};
}

/// No time mends it.
Error is_ending() {
  return {ErrorCode::failed, "the program is ending"};
}

/// exit() tears down OpenSSL and Kerberos, and threads that log in meanwhile would crash in them: OpenSSL at
/// any time, but it tells before it does so, and Kerberos after all that was registered. Throws Error
/// (failed) once it has begun to.
void end_with_program() {
  static constinit MadeOnce<bool> registered;
  registered.get([] {
    if (OPENSSL_atexit(&fork_guard::end) != 1) throw out_of_memory();
    // Where neither of them has told all others before, exit() waits for this thread from now on.
    if (std::atexit(&fork_guard::end) != 0 || OPENSSL_init_crypto(0, nullptr) != 1) throw is_ending();
    return true;
  });
}

/// Begins to connect; `parameters` win over what the connection string says, and that over `program`.
Session start(const std::string& connection_string, const std::string& program,
              const std::vector<Parameter>& parameters) {
  std::vector<const char*> keywords{"fallback_application_name", "dbname"};
  std::vector<const char*> values{program.c_str(), connection_string.c_str()};
  for (const Parameter& parameter : parameters) {
    keywords.push_back(parameter.keyword);
    values.push_back(parameter.value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  Session session(take_step([&] {
    end_with_program();
    return PQconnectStartParams(keywords.data(), values.data(), /*expand_dbname=*/1);
  }));
  if (!session) throw out_of_memory();
  // What the server warns of at login, libpq would print.
  PQsetNoticeReceiver(
      session.get(), [](void*, const PGresult*) {}, nullptr);
  return session;
}

/// libpq would wait for a pipe's writer, and read what it gives more than once.
void require_service_file() {
  const char* const file = std::getenv("PGSERVICEFILE");
  struct stat found {};
  if (file == nullptr || stat(file, &found) != 0 || !S_ISFIFO(found.st_mode)) return;
  throw Error(ErrorCode::usage, fmt::format("PGSERVICEFILE names a pipe, '{}'", file),
              "write that to a file, and name it in PGSERVICEFILE"_hint);
}

/// The options that hold for a connection string once service file, environment and defaults are looked at.
Options effective_options(const std::string& connection_string) {
  require_service_file();
  // Only a connection object knows them; a mode that does not exist keeps it from connecting.
  const Session unconnected = start(connection_string, "", {{"sslmode", "none of them"}});
  return Options(PQconninfo(unconnected.get()));
}

/// What the connection string lacks for grants, of which `options` hold.
std::vector<Parameter> missing_parameters(const Options& options, milliseconds timeout) {
  std::vector<Parameter> missing{{"client_encoding", "UTF8"}};
  const std::string hosts = option(options.get(), "host");
  const std::string addresses = option(options.get(), "hostaddr");
  const auto servers = 1 + std::max(std::count(hosts.begin(), hosts.end(), ','),
                                    std::count(addresses.begin(), addresses.end(), ','));
  const std::string target = option(options.get(), "target_session_attrs");
  if (servers > 1 && (target.empty() || target == "any"))
    missing.push_back({"target_session_attrs", "read-write"});
  // Without it a peer that vanished is noticed after a quarter of an hour. Each server has its share, so that
  // there is time left for the next one.
  const std::string user_timeout = option(options.get(), "tcp_user_timeout");
  if (user_timeout.empty() || user_timeout == "0") {
    missing.push_back(
        {"tcp_user_timeout", std::to_string(std::max<std::int64_t>(1, timeout.count() / servers))});
  }
  return missing;
}

/// Has the lists say what they leave to libpq. It passes over one that is empty, as it is where one server is
/// left, and would take the list of all servers for it.
void say_all(Servers& servers, const Options& options) {
  if (servers.ports.empty()) servers.ports = option(options.get(), "port", &PQconninfoOption::compiled);
  const bool is_folder = servers.hosts.starts_with('/') || servers.hosts.starts_with('@');
  if (servers.addresses.empty() && !option(options.get(), "hostaddr").empty() && !is_folder)
    servers.addresses = servers.hosts;  // an address, as all names have got theirs
}

/// How long a login waits for one of several servers. The kernel of one whose processes stand still accepts
/// connections, so that no timeout of TCP ends the wait.
class Patience {
 public:
  Patience(const Options& options, std::size_t servers, Deadline deadline)
      : servers_(option(options.get(), "load_balance_hosts") == "random" ? 1 : servers),  // in no known order
        deadline_(deadline),
        until_(deadline) {
    const std::string limit = option(options.get(), "connect_timeout");
    if (const int seconds = std::atoi(limit.c_str()); seconds > 0) limit_ = std::chrono::seconds(seconds);
  }

  /// To be told of each step: the next server has a time of its own.
  void note(const PGconn* connection) {
    std::string asked =
        fmt::format("{} {} {}", PQhost(connection), PQhostaddr(connection), PQport(connection));
    if (asked == asked_) return;
    asked_ = std::move(asked);
    ++number_asked_;
    until_ = deadline_;
    if (number_asked_ >= servers_) return;
    const auto now = steady_clock::now();
    const auto left = static_cast<std::int64_t>(servers_ - number_asked_ + 1);
    until_ = now + std::min<Deadline::duration>((deadline_ - now) / left, limit_);
  }

  Deadline until() const { return until_; }
  bool is_for_the_last() const { return number_asked_ >= servers_; }
  std::size_t number_asked() const { return number_asked_; }

 private:
  std::size_t servers_;
  Deadline deadline_;
  Deadline until_;
  Deadline::duration limit_ = Deadline::duration::max();
  std::string asked_;
  std::size_t number_asked_ = 0;
};

/// Does what is left of a login. False where one of several servers has used up its time. Throws Error where
/// the last one has, and where none lets anybody in.
bool finish(PGconn* connection, Patience& patience, const std::string& connection_string,
            const std::vector<std::string>& failures) {
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED) throw login_error(connection, connection_string, failures);
    patience.note(connection);
    if (!wait_for_socket(connection, state == PGRES_POLLING_WRITING, patience.until())) {
      if (!patience.is_for_the_last()) return false;
      throw Error(
          ErrorCode::unavailable,
          fmt::format("store '{}' did not answer in time", redact_url(connection_string)),
          advice("check the host and port, or allow more time{}"_hint, Remedy{Remedy::Kind::allow_more_time}),
          sqlstate::unable_to_connect);
    }
    state = take_step([&] { return PQconnectPoll(connection); });
  }
  return true;
}

}  // namespace

InEnglish::InEnglish() noexcept {
  static const locale_t english = newlocale(LC_ALL_MASK, "C", nullptr);
  before_ = uselocale(english);
}

InEnglish::~InEnglish() {
  uselocale(before_);
}

void require_not_ended() {
  if (fork_guard::has_ended()) throw is_ending();
}

void FinishConnection::operator()(PGconn* connection) const noexcept {
  const fork_guard::Hold no_fork;
  if (!fork_guard::has_ended()) PQfinish(connection);
}

bool wait_for_socket(const PGconn* connection, bool for_writing, Deadline deadline) {
  pollfd socket{.fd = PQsocket(connection), .events = POLLIN, .revents = 0};
  if (for_writing) socket.events |= POLLOUT;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left <= milliseconds::zero()) return false;
    const int ready = poll(&socket, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 3'600'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // libpq reports what is wrong with the socket
  }
}

Session log_in(const std::string& connection_string, const std::string& program, Deadline deadline) {
  const auto timeout = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  const Options options = effective_options(connection_string);
  const std::vector<Parameter> missing = missing_parameters(options, timeout);
  Resolution resolution = resolve({.hosts = option(options.get(), "host"),
                                   .addresses = option(options.get(), "hostaddr"),
                                   .ports = option(options.get(), "port")},
                                  deadline);
  if (!resolution.is_anybody_left) throw unresolved_error(resolution.failures, connection_string);
  for (;;) {
    say_all(resolution.servers, options);
    std::vector<Parameter> parameters = missing;
    parameters.push_back({"host", resolution.servers.hosts});
    parameters.push_back({"hostaddr", resolution.servers.addresses});
    parameters.push_back({"port", resolution.servers.ports});
    Session session = start(connection_string, program, parameters);
    if (PQstatus(session.get()) == CONNECTION_BAD)
      throw login_error(session.get(), connection_string, resolution.failures);
    // Verbose messages carry the SQLSTATE, which libpq does not give for a failed login otherwise.
    PQsetErrorVerbosity(session.get(), PQERRORS_VERBOSE);
    std::vector<Server> servers = one_by_one(resolution.servers);
    Patience patience(options, servers.size(), deadline);
    if (finish(session.get(), patience, connection_string, resolution.failures)) {
      PQsetErrorVerbosity(session.get(), PQERRORS_DEFAULT);
      return session;
    }
    // libpq would wait for it alone.
    const auto silent = servers.begin() + static_cast<std::ptrdiff_t>(patience.number_asked() - 1);
    resolution.failures.push_back(
        fmt::format("connection to server at \"{}\", port {} failed: it did not answer in time", silent->host,
                    silent->port));
    servers.erase(silent);
    resolution.servers = in_lists(servers);
  }
}

void cancel(PGconn* connection, milliseconds patience) noexcept try {
  std::unique_ptr<PGcancel, FreeCancel> request(PQgetCancel(connection));
  if (!request) return;
  // In a thread of its own, since libpq waits for a silent server without end.
  std::packaged_task<void()> task([request = std::move(request)] {
    std::array<char, 256> ignored{};
    PQcancel(request.get(), ignored.data(), static_cast<int>(ignored.size()));
  });
  const auto heard = task.get_future();
  {
    const NoSignals in_thread;
    std::thread(std::move(task)).detach();
  }
  heard.wait_for(patience);
} catch (const std::exception&) {
  // The server will notice by itself that nobody listens any more, though later.
}

}  // namespace leaf::store::postgresql
