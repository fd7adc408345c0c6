#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "serve/connection.hpp"
#include "serve/drawing.hpp"
#include "serve/http_request.hpp"
#include "serve/resp.hpp"
#include "serve/statistics.hpp"

namespace leafctl::serve {

class Server;

/// One thread's event loop, and the connections that it serves.
///
/// Asio runs it: timers, signals, listening, what other threads bring. The sockets of connections are in an
/// epoll set of their own, which Asio watches as one descriptor: Asio's edge-triggered set costs a system
/// call more for each request, a tenth of what one takes.
class Loop {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Both are borrowed.
  Loop(Server& server, DrawingJobs& jobs);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Returns when finish() was called and all connections have ended.
  void run();
  /// From any thread: takes over `socket`.
  void adopt(int socket, Protocol protocol, bool uses_tls, std::string remote);
  /// From any thread: how many connections are open here, or about to be.
  std::size_t taken() const noexcept { return adopted_ + statistics_.open(); }
  /// From any thread: answers what has come, and ends.
  void finish();

  boost::asio::io_context& context() noexcept { return context_; }
  Server& server() noexcept { return server_; }
  Drawing& drawing() noexcept { return drawing_; }
  Statistics& statistics() noexcept { return statistics_; }
  const Statistics& statistics() const noexcept { return statistics_; }
  std::size_t connections() const noexcept { return connections_.size(); }

  // For connections.

  /// Watches its socket for `events` of epoll, in place of those of before.
  void watch(Connection& connection, std::uint32_t events, bool is_new);
  /// Destroys it soon.
  void forget(Connection& connection);
  /// What input is read into, and answers are put together in; of use until the next connection's turn.
  std::span<char> input() noexcept { return input_; }
  std::string& output() noexcept { return output_; }
  std::string& body() noexcept { return body_; }
  /// Where the answers in output() end.
  std::vector<std::uint32_t>& answer_ends() noexcept { return answer_ends_; }
  /// When the events that are handled now came in.
  Time now() const noexcept { return now_; }
  void refresh_now() noexcept { now_ = std::chrono::steady_clock::now(); }
  /// When finish(), called now, has ended all connections.
  Time finish_by() const noexcept;
  /// How long a request may wait for the store.
  std::chrono::milliseconds patience() const noexcept { return patience_; }
  /// Tells the connection when it is late, unless its wait ends before.
  void begin_wait(Connection& connection, Time late_at);
  void end_wait(Connection& connection) noexcept;
  /// A connection that held `before` bytes holds `after`. False if all hold too much.
  bool account(std::size_t before, std::size_t after) noexcept;
  /// Requests that were answered since, whose time is counted when the connection's turn ends.
  void count_answered(Protocol protocol) noexcept { ++answered_[static_cast<std::size_t>(protocol)]; }
  /// One of these, which had to wait since.
  void count_waited(Protocol protocol, Time begun) noexcept;
  /// What commands are read into, of use until the next one.
  RespCommand& resp_command() noexcept { return resp_command_; }
  HttpRequest& http_request() noexcept { return http_request_; }
  /// The value of a Date field.
  const std::string& date();

 private:
  void await_events();
  void handle_events();
  void pause() const;
  void end_turn();
  void start_clock();
  void await_lateness();
  void end_if_done();

  Server& server_;
  boost::asio::io_context context_{1};
  boost::asio::posix::stream_descriptor events_;
  boost::asio::steady_timer clock_;
  boost::asio::steady_timer lateness_;
  const std::chrono::milliseconds patience_;
  std::unordered_map<const Connection*, Time> waits_;
  std::set<std::pair<Time, Connection*>> by_lateness_;
  Statistics statistics_;
  std::atomic<std::size_t> adopted_{0};  ///< and not open yet
  Drawing drawing_;
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> ended_;
  RespCommand resp_command_;
  HttpRequest http_request_;
  std::vector<char> input_;
  std::string output_;
  std::string body_;
  std::vector<std::uint32_t> answer_ends_;
  Time now_;
  std::uint64_t answered_[protocols]{};
  std::time_t date_of_ = 0;
  std::string date_;
  std::size_t held_ = 0;
  bool is_finishing_ = false;
  Time finish_by_{};
};

}  // namespace leafctl::serve
