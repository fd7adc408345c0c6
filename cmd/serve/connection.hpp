#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "serve/statistics.hpp"
#include "serve/tls.hpp"
#include "serve/unsent_answers.hpp"

namespace leafctl::serve {

class Loop;

/// One client. What it sends is handled request by request, and answered in that order; while an answer has
/// to wait, or is not taken, nothing more is read. One that is idle holds no buffer.
class Connection {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Takes over `socket`, which does not block. `tls` may be null.
  Connection(Loop& loop, Protocol protocol, int socket, std::unique_ptr<TlsSession> tls, std::string remote);
  virtual ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Protocol protocol() const noexcept { return protocol_; }
  int socket() const noexcept { return socket_; }
  const std::string& remote() const noexcept { return remote_; }
  bool is_closed() const noexcept { return is_closed_; }

  /// The socket can be read or written.
  void on_events(std::uint32_t events);
  /// Ends it if it has been silent, or slow, for too long.
  void check_time(Time now);
  /// Answers what has come, and ends then.
  void finish();
  /// The request in hand has waited for as long as it may, by Loop::begin_wait(); gives it up, and answers.
  virtual void on_late() = 0;

 protected:
  enum class Step {
    handled,  ///< and removed from the input
    incomplete,
    waits,    ///< for resume(); the request is removed from the input, its answer follows
    closes,   ///< once what was answered is sent
    rejects,  ///< likewise, and what else was sent is thrown away
  };

  /// Handles the request that `input` begins with, and adds the answer to `out`.
  virtual Step handle(std::string_view& input, std::string& out) = 0;
  /// The answer to who took too long to send a request; may be none.
  virtual void append_late(std::string& out) = 0;
  /// Nothing waits for the connection any more, which is about to end.
  virtual void abandon() noexcept = 0;

  /// The answer that was waited for, in `out`; goes on with what has come meanwhile.
  void resume(std::string_view answer, bool closes);
  bool is_finishing() const noexcept { return is_finishing_; }
  /// How long the request in hand may wait.
  virtual std::chrono::milliseconds patience() const noexcept;
  /// When it began to.
  Time waits_since() const noexcept { return waits_since_; }
  Loop& loop() const noexcept { return loop_; }

 private:
  enum class Read { some, none, ended, broken };

  bool may_read() const noexcept { return !waits_ && !closes_ && !has_ended_ && unsent_.empty(); }
  void read_and_serve();
  Read read(char* to, std::size_t size, std::size_t& count);
  void serve(std::string_view input);
  void keep(std::string_view input);
  /// Each answer ends at one of `ends`; without these it is one.
  void send(std::string_view answers, std::span<const std::uint32_t> ends = {});
  void send_rest();
  std::size_t write(std::string_view text);
  bool nothing_follows() const noexcept;
  void close_if_done();
  void linger();
  void drop_input();
  void end_wait() noexcept;
  void account();
  void close() noexcept;
  void watch();

  Loop& loop_;
  const Protocol protocol_;
  const int socket_;
  const std::unique_ptr<TlsSession> tls_;
  const std::string remote_;
  std::string input_;  ///< that is not handled yet
  UnsentAnswers unsent_;
  std::size_t accounted_ = 0;  ///< bytes that the loop knows to be held
  Time active_;                ///< something was received or sent last
  Time request_begun_;         ///< if there is input that is incomplete
  Time waits_since_;
  std::uint32_t watched_ = 0;
  bool read_wants_write_ = false;  ///< TLS cannot read before it has written
  bool write_wants_read_ = false;
  bool waits_ = false;
  bool closes_ = false;
  bool rejects_ = false;
  bool lingers_ = false;    ///< all is sent; the other end is to see that before the connection is gone
  bool has_ended_ = false;  ///< the other end sends nothing more
  bool is_finishing_ = false;
  bool is_closed_ = false;
};

}  // namespace leafctl::serve
