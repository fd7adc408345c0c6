#include "serve/loop.hpp"

#include <fmt/chrono.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>

#include "serve/http_connection.hpp"
#include "serve/redis_connection.hpp"
#include "serve/server.hpp"

namespace leafctl::serve {

namespace {

/// The largest request there is, and as much again.
constexpr std::size_t input_size = 128UL * 1024;
/// What all clients of a loop together may make it hold.
constexpr std::size_t most_held = 256UL * 1024 * 1024;
constexpr int most_events = 256;
/// Sets of events that are handled before Asio gets its turn.
constexpr int rounds = 16;
constexpr std::chrono::milliseconds tick{500};
/// Buffers that a large answer has left behind are freed.
constexpr std::size_t usual_output = 1024UL * 1024;
/// How long the end waits for answers to be taken.
constexpr std::chrono::seconds last_patience{2};
/// With no timeout the store is tried once, which may take a second.
constexpr std::chrono::milliseconds least_patience{1000};
/// For whoever waits for the store to say what is wrong with it.
constexpr std::chrono::milliseconds allowance{250};

int new_epoll_set() {
  const int set = epoll_create1(EPOLL_CLOEXEC);
  if (set == -1) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return set;
}

}  // namespace

Loop::Loop(Server& server, DrawingJobs& jobs)
    : server_(server),
      events_(context_, new_epoll_set()),
      clock_(context_),
      lateness_(context_),
      patience_(std::max(server.options().store.timeout, least_patience) + allowance),
      drawing_(context_, jobs, server.drawing()),
      input_(input_size),
      now_(std::chrono::steady_clock::now()) {
  await_events();
  start_clock();
}

Loop::~Loop() {
  // They tell the loop when they go.
  for (auto& [connection, owned] : std::exchange(connections_, {})) owned.reset();
}

void Loop::run() {
  // The kernel would have a pause take 50 us more.
  if (server_.options().coalesce.count() != 0) prctl(PR_SET_TIMERSLACK, 1UL);
  context_.run();
}

void Loop::adopt(int socket, Protocol protocol, bool uses_tls, std::string remote) {
  ++adopted_;
  boost::asio::dispatch(context_, [this, socket, protocol, uses_tls, remote = std::move(remote)] {
    if (is_finishing_) {
      close(socket);
      --adopted_;
      return;
    }
    refresh_now();
    std::unique_ptr<TlsSession> tls;
    if (uses_tls) tls = std::make_unique<TlsSession>(*server_.tls(), socket);
    std::unique_ptr<Connection> connection;
    if (protocol == Protocol::http) {
      connection = std::make_unique<HttpConnection>(*this, socket, std::move(tls), remote);
    } else {
      connection = std::make_unique<RedisConnection>(*this, socket, std::move(tls), remote);
    }
    Connection* const key = connection.get();
    connections_.emplace(key, std::move(connection));
    --adopted_;  // once it counts as open
  });
}

Loop::Time Loop::finish_by() const noexcept {
  return std::chrono::steady_clock::now() + patience_ + last_patience;
}

void Loop::finish() {
  boost::asio::post(context_, [this] {
    refresh_now();
    is_finishing_ = true;
    finish_by_ = finish_by();
    std::vector<Connection*> all;
    for (const auto& [connection, owned] : connections_) all.push_back(connection);
    for (Connection* const connection : all) connection->finish();
    end_turn();
  });
}

void Loop::watch(Connection& connection, std::uint32_t events, bool is_new) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &connection;
  if (epoll_ctl(events_.native_handle(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connection.socket(),
                &event) != 0)
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

void Loop::forget(Connection& connection) {
  const auto found = connections_.find(&connection);
  if (found == connections_.end()) return;
  epoll_ctl(events_.native_handle(), EPOLL_CTL_DEL, connection.socket(), nullptr);
  ended_.push_back(std::move(found->second));
  connections_.erase(found);
  // Whoever calls may still use it.
  if (ended_.size() == 1) boost::asio::post(context_, [this] { end_turn(); });
}

void Loop::begin_wait(Connection& connection, Time late_at) {
  waits_[&connection] = late_at;
  by_lateness_.emplace(late_at, &connection);
  if (by_lateness_.begin()->second == &connection) await_lateness();
}

void Loop::end_wait(Connection& connection) noexcept {
  const auto wait = waits_.find(&connection);
  if (wait == waits_.end()) return;
  by_lateness_.erase({wait->second, &connection});
  waits_.erase(wait);
}

void Loop::await_lateness() {
  lateness_.expires_at(by_lateness_.begin()->first);
  lateness_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    refresh_now();
    while (!by_lateness_.empty() && by_lateness_.begin()->first <= now_) {
      Connection& connection = *by_lateness_.begin()->second;
      end_wait(connection);
      connection.on_late();
    }
    end_turn();
    if (!by_lateness_.empty()) await_lateness();
  });
}

bool Loop::account(std::size_t before, std::size_t after) noexcept {
  held_ = held_ - before + after;
  return held_ <= most_held || after <= before;
}

void Loop::count_waited(Protocol protocol, Time begun) noexcept {
  --answered_[static_cast<std::size_t>(protocol)];
  statistics_.count_time(protocol, std::chrono::steady_clock::now() - begun, 1);
}

void Loop::await_events() {
  events_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& error) {
                       if (error) return;
                       handle_events();
                       if (events_.is_open()) await_events();
                     });
}

void Loop::handle_events() {
  std::array<epoll_event, most_events> events;
  for (int round = 0; round < rounds; ++round) {
    const int count = epoll_wait(events_.native_handle(), events.data(), most_events, 0);
    if (count <= 0) break;
    now_ = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      auto& connection = *static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      connection.on_events(events[static_cast<std::size_t>(i)].events);
    }
    const auto took = std::chrono::steady_clock::now() - now_;
    for (const Protocol protocol : {Protocol::http, Protocol::redis}) {
      if (const std::uint64_t requests = std::exchange(answered_[static_cast<std::size_t>(protocol)], 0))
        statistics_.count_time(protocol, took, requests);
    }
  }
  end_turn();
  pause();
}

/// Who sends a request to a server that waits for one has to wake it, which takes a client longer than the
/// request itself.
void Loop::pause() const {
  const auto pause = server_.options().coalesce;
  if (pause.count() != 0) std::this_thread::sleep_for(pause);
}

void Loop::end_turn() {
  ended_.clear();
  for (std::string* const buffer : {&output_, &body_}) {
    if (buffer->capacity() > usual_output) std::string().swap(*buffer);
  }
  end_if_done();
}

void Loop::start_clock() {
  clock_.expires_after(tick);
  clock_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    refresh_now();
    drawing_.look_again();
    statistics_.set_waiting(drawing_.waiting());
    std::vector<Connection*> all;
    all.reserve(connections_.size());
    for (const auto& [connection, owned] : connections_) all.push_back(connection);
    for (Connection* const connection : all) connection->check_time(now_);
    if (is_finishing_ && now_ > finish_by_) {
      for (auto& [connection, owned] : std::exchange(connections_, {})) owned.reset();
    }
    end_turn();
    if (events_.is_open()) start_clock();
  });
}

void Loop::end_if_done() {
  if (!is_finishing_ || !connections_.empty() || !events_.is_open()) return;
  events_.close();
  context_.stop();
}

const std::string& Loop::date() {
  const std::time_t now = std::time(nullptr);
  if (now != date_of_) {
    date_of_ = now;
    date_ = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now));
  }
  return date_;
}

}  // namespace leafctl::serve
