#pragma once

#include <atomic>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/access_log.hpp"
#include "serve/end_guard.hpp"
#include "serve/jobs.hpp"
#include "serve/listener.hpp"
#include "serve/loop.hpp"
#include "serve/notices.hpp"
#include "serve/serve.hpp"
#include "serve/shared_answer.hpp"
#include "serve/shared_drawing.hpp"
#include "serve/tls.hpp"
#include "serve/tokens.hpp"

namespace leafctl::serve {

/// What may be waited for, but draws nothing.
struct SharedAnswers {
  SharedAnswer readiness;
  SharedAnswer layout;  ///< SharedDrawing::known_layout() has it
  SharedAnswer metrics;
  SharedAnswer status;
  SharedAnswer cache_page;
  SharedAnswer store_page;
};

/// What all event loops share, and what ends them.
class Server {
 public:
  /// Called before there are threads. Blocks the signals that run() takes: handlers belong to the process,
  /// and who writes a message has its own meanwhile.
  static void block_signals();
  explicit Server(Options options);
  ~Server();

  /// Serves until a signal asks it to end.
  void run();

  const Options& options() const noexcept { return options_; }
  SharedDrawing& drawing() noexcept { return drawing_; }
  /// Whether there is a file of tokens, which never changes. Costs less than a look at them.
  bool needs_token() const noexcept { return !options_.token_file.empty(); }
  /// As they were read last. Never null.
  std::shared_ptr<const Tokens> tokens() const { return tokens_.load(); }
  /// Null if there is no certificate.
  std::shared_ptr<const TlsContext> tls() const { return tls_.load(); }
  /// Null if nothing is logged.
  AccessLog* access_log() noexcept { return access_log_.get(); }
  SharedAnswers& answers() noexcept { return answers_; }
  std::string metrics() const;
  std::chrono::steady_clock::time_point began() const noexcept { return began_; }
  std::size_t connections() const noexcept;

 private:
  void inform(std::string text);
  void warn(std::string text, std::string hint = {});
  void read_files();
  void read_files_again() noexcept;
  void open_listeners();
  void take_connection(Protocol protocol, int socket, bool uses_tls, std::string remote);
  void await_signal();
  void begin_end();
  void end_jobs();
  void feed_watchdog(std::chrono::microseconds interval);

  EndGuard end_guard_;  // which goes last
  const Options options_;
  Notices notices_;
  const std::chrono::steady_clock::time_point began_;
  std::atomic<std::shared_ptr<const Tokens>> tokens_;
  std::atomic<std::shared_ptr<const TlsContext>> tls_;
  std::unique_ptr<AccessLog> access_log_;
  SharedDrawing drawing_;
  DrawingJobs drawing_jobs_;
  Jobs answering_jobs_;
  SharedAnswers answers_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unique_ptr<boost::asio::posix::stream_descriptor> signals_;  ///< of signalfd(2)
  std::unique_ptr<boost::asio::steady_timer> watchdog_;
  std::size_t next_loop_ = 0;
  bool is_ending_ = false;
  std::chrono::steady_clock::time_point answers_by_{};  ///< if it ends
};

}  // namespace leafctl::serve
