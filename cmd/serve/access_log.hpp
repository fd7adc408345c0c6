#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "serve/statistics.hpp"

namespace leafctl::serve {

/// A line of JSON for each request. Written by a thread of its own, so that a slow disk or reader delays no
/// answer: what it cannot take is counted and left out.
class AccessLog {
 public:
  struct Entry {
    std::string_view remote;
    Protocol protocol = Protocol::http;
    std::string_view method;   ///< of HTTP, or a command
    std::string_view subject;  ///< a path without its query, or a tag
    Outcome outcome = Outcome::ok;
    unsigned status = 0;  ///< of HTTP
  };

  /// `file` is a path, or - for standard output. `warn` is told, from the writer's thread, when lines begin
  /// to be lost. Throws leaf::Error (usage) if the file cannot be opened.
  AccessLog(std::string file, std::function<void(const std::string&)> warn);
  /// Writes what is left.
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void add(const Entry& entry);
  /// For a file that was moved away. Throws leaf::Error (usage) if it cannot be opened; then the one of
  /// before still serves.
  void open_again();
  /// Lines that were left out, or that the file did not take.
  std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  int open() const;
  void write_all();
  void write_lines(std::string_view lines);
  void go_over_to(int descriptor);

  const std::string file_;
  const std::function<void(const std::string&)> warn_;
  int descriptor_ = -1;  ///< the writer's
  const int bell_;       ///< an eventfd that ends the writer's wait for a reader
  bool is_failing_ = false;
  bool is_stuck_ = false;  ///< who reads it has stopped
  bool is_torn_ = false;   ///< the last line ends in its middle
  std::atomic<std::uint64_t> lost_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string lines_;
  std::uint64_t left_out_ = 0;
  int next_descriptor_ = -1;   ///< opened again
  std::size_t of_former_ = 0;  ///< so much of `lines_` was there before that
  bool ends_ = false;
  std::thread writer_;
};

}  // namespace leafctl::serve
