#include "serve/server.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <exception>
#include <initializer_list>
#include <optional>
#include <system_error>
#include <utility>

#include "leaf/error.hpp"
#include "serve/address.hpp"
#include "serve/service_manager.hpp"
#include "text/hint.hpp"

namespace leafctl::serve {

namespace {

using leaf::Error;
using leaf::ErrorCode;

/// So that none of the shared answers waits for another one's thread.
constexpr std::size_t answering_threads = 6;
/// How long the end waits for threads that nobody waits for.
constexpr std::chrono::seconds jobs_patience{2};
/// The same, if those that somebody waited for have used up all time.
constexpr std::chrono::milliseconds least_jobs_patience{500};
/// Files that are open besides connections: the store's, the host's buffers, the log.
constexpr std::uint64_t other_files = 512;

/// As many files as connections need. The limit that programs begin with is there for those that use
/// select().
void raise_file_limit(std::uint64_t connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur =
      std::min<rlim_t>(limit.rlim_max, std::max<rlim_t>(limit.rlim_cur, connections + other_files));
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// Whoever asks twice to end wants no more patience.
extern "C" void end_at_once(int signal) {
  _exit(128 + signal);
}

sigset_t signal_set(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

/// The threads of all loops but the first. Whatever becomes of that one's, they end before it.
class LoopThreads {
 public:
  explicit LoopThreads(const std::vector<std::unique_ptr<Loop>>& loops) : loops_(loops) {}
  ~LoopThreads() {
    for (const auto& loop : loops_) loop->context().stop();
    join();
  }

  void start() {
    for (std::size_t i = 1; i < loops_.size(); ++i)
      threads_.emplace_back([loop = loops_[i].get()] { loop->run(); });
  }

  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  const std::vector<std::unique_ptr<Loop>>& loops_;
  std::vector<std::thread> threads_;
};

sigset_t taken_signals() {
  return signal_set({SIGTERM, SIGINT, SIGHUP});
}

std::int64_t monotonic_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace

void Server::block_signals() {
  const sigset_t taken = taken_signals();
  pthread_sigmask(SIG_BLOCK, &taken, nullptr);
  // What is ignored never comes, and shells start what runs beside them like that.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_DFL);
}

Server::Server(Options options)
    : options_(std::move(options)),
      began_(std::chrono::steady_clock::now()),
      tokens_(std::make_shared<const Tokens>()),
      drawing_(options_),
      answering_jobs_(answering_threads),
      answers_{.readiness = {answering_jobs_,
                             [this] {
                               drawing_.require_ready();
                               return std::string("ready\n");
                             }},
               .layout = {answering_jobs_,
                          [this] {
                            drawing_.layout();
                            return std::string();
                          }},
               .metrics = {answering_jobs_, options_.overview.metrics},
               .status = {answering_jobs_, options_.overview.status},
               .cache_page = {answering_jobs_, options_.overview.cache_page},
               .store_page = {answering_jobs_, options_.overview.store_page}} {
  read_files();
  if (!options_.access_log.empty())
    access_log_ =
        std::make_unique<AccessLog>(options_.access_log, [this](const std::string& text) { warn(text); });
  raise_file_limit(static_cast<std::uint64_t>(options_.max_connections));
  for (int i = 0; i < options_.threads; ++i) loops_.push_back(std::make_unique<Loop>(*this, drawing_jobs_));
  open_listeners();
}

Server::~Server() {
  end_jobs();
}

void Server::inform(std::string text) {
  notices_.add([this, text = std::move(text)] { options_.inform(text); });
}

void Server::warn(std::string text, std::string hint) {
  notices_.add([this, text = std::move(text), hint = std::move(hint)] { options_.warn(text, hint); });
}

void Server::read_files() {
  std::shared_ptr<const Tokens> tokens = std::make_shared<const Tokens>();
  std::shared_ptr<const TlsContext> tls;
  if (!options_.token_file.empty())
    tokens = std::make_shared<const Tokens>(Tokens::read(options_.token_file));
  if (!options_.certificate_file.empty())
    tls = std::make_shared<const TlsContext>(options_.certificate_file, options_.key_file);
  tokens_.store(std::move(tokens));
  tls_.store(std::move(tls));
}

/// What is wrong with them is said, and those of before go on. A log that was moved away is left, whatever is
/// wrong with the others.
void Server::read_files_again() noexcept {
  notify_service_manager(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", monotonic_microseconds()));
  bool is_log_open = true;
  try {
    if (access_log_) access_log_->open_again();
  } catch (const std::exception& error) {
    is_log_open = false;
    warn(fmt::format("the access log was not reopened: {}", error.what()));
  }
  try {
    read_files();
    if (is_log_open) inform("configuration reloaded");
  } catch (const std::exception& error) {
    warn(fmt::format("the configuration was not reloaded: {}", error.what()));
  }
  notify_service_manager("READY=1");
}

void Server::open_listeners() {
  boost::asio::io_context& context = loops_.front()->context();
  for (const InheritedSocket& socket : inherited_sockets()) {
    if (socket.name != "http" && socket.name != "redis")
      throw Error(ErrorCode::usage,
                  fmt::format("the name of a socket in LISTEN_FDS is '{}', not http or redis", socket.name),
                  "set 'FileDescriptorName=http' or 'FileDescriptorName=redis' in its socket unit"_hint);
    listeners_.push_back(std::make_unique<Listener>(
        context, socket.name == "http" ? Protocol::http : Protocol::redis, socket.descriptor));
  }
  const auto open = [&](const std::vector<std::string>& addresses, Protocol protocol,
                        std::string_view option) {
    for (const std::string& text : addresses)
      listeners_.push_back(std::make_unique<Listener>(context, protocol, parse_address(option, text)));
  };
  open(options_.http, Protocol::http, "--http");
  open(options_.redis, Protocol::redis, "--redis");
  if (listeners_.empty()) open({"127.0.0.1:8080"}, Protocol::http, "--http");
}

void Server::run() {
  const sigset_t taken = taken_signals();
  const int descriptor = signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor == -1) throw std::system_error(errno, std::generic_category(), "signalfd");
  signals_ = std::make_unique<boost::asio::posix::stream_descriptor>(loops_.front()->context(), descriptor);
  await_signal();
  LoopThreads threads(loops_);
  threads.start();
  for (const auto& listener : listeners_) {
    const bool uses_tls = tls() != nullptr && !listener->is_unix();
    listener->start([this, &listener = *listener, uses_tls](int socket, std::string remote) {
      take_connection(listener.protocol(), socket, uses_tls, std::move(remote));
    });
    inform(fmt::format("listening for {}{} on {}", name_of(listener->protocol()), uses_tls ? " over TLS" : "",
                       listener->shown()));
    if (listener->is_public() && !needs_token())
      warn(fmt::format("anyone who can reach {} can draw IDs", listener->shown()),
           "require a token with '--token-file FILE'"_hint);
  }
  notify_service_manager("READY=1\nSTATUS=serving");
  if (const auto interval = watchdog_interval()) {
    watchdog_ = std::make_unique<boost::asio::steady_timer>(loops_.front()->context());
    feed_watchdog(*interval);
  }
  loops_.front()->run();
  threads.join();
  // Nobody waits for what is still at work.
  const auto now = std::chrono::steady_clock::now();
  end_guard_.end_by(std::max(now + least_jobs_patience, std::min(answers_by_, now + jobs_patience)));
  end_jobs();
}

void Server::take_connection(Protocol protocol, int socket, bool uses_tls, std::string remote) {
  Loop& loop = *loops_[next_loop_++ % loops_.size()];
  if (connections() >= static_cast<std::size_t>(options_.max_connections)) {
    loops_.front()->statistics().count_turned_away(protocol);
    close(socket);
    return;
  }
  loop.adopt(socket, protocol, uses_tls, std::move(remote));
}

std::size_t Server::connections() const noexcept {
  std::size_t open = 0;
  for (const auto& loop : loops_) open += loop->taken();
  return open;
}

std::string Server::metrics() const {
  std::vector<const Statistics*> all;
  for (const auto& loop : loops_) all.push_back(&std::as_const(*loop).statistics());
  return Statistics::metrics(all, access_log_ ? std::optional(access_log_->lost()) : std::nullopt);
}

void Server::await_signal() {
  signals_->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [this](const boost::system::error_code& error) {
                         if (error) return;
                         signalfd_siginfo signal{};
                         while (read(signals_->native_handle(), &signal, sizeof signal) == sizeof signal) {
                           if (signal.ssi_signo == SIGHUP) {
                             read_files_again();
                           } else if (!is_ending_) {
                             begin_end();
                           }
                         }
                         await_signal();
                       });
}

void Server::end_jobs() {
  drawing_jobs_.buffers.end();
  drawing_jobs_.tags.end();
  drawing_jobs_.snowflakes.end();
  answering_jobs_.end();
}

/// Nothing new is taken; what is in hand is answered.
void Server::begin_end() {
  is_ending_ = true;
  // The loop that takes signals may end before all else has.
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, end_at_once);
  const sigset_t ending = signal_set({SIGTERM, SIGINT});
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
  answers_by_ = std::chrono::steady_clock::now() + loops_.front()->patience();
  end_guard_.end_by(loops_.front()->finish_by() + jobs_patience);
  notify_service_manager("STOPPING=1\nSTATUS=finishing pending requests");
  inform("stopping");
  for (const auto& listener : listeners_) listener->stop();
  if (watchdog_) watchdog_->cancel();
  for (const auto& loop : loops_) loop->finish();
}

void Server::feed_watchdog(std::chrono::microseconds interval) {
  notify_service_manager("WATCHDOG=1");
  watchdog_->expires_after(interval);
  watchdog_->async_wait([this, interval](const boost::system::error_code& error) {
    if (!error) feed_watchdog(interval);
  });
}

}  // namespace leafctl::serve
