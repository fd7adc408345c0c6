#pragma once

#include <condition_variable>
#include <cstdint>
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

  /// `file` is a path, or - for standard output. Throws leaf::Error (usage) if it cannot be opened.
  explicit AccessLog(std::string file);
  /// Writes what is left.
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void add(const Entry& entry);
  /// For a file that was moved away.
  void open_again();

 private:
  void open();
  void write_all();

  const std::string file_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string lines_;
  std::uint64_t left_out_ = 0;
  bool is_to_open_ = false;
  bool ends_ = false;
  std::thread writer_;
};

}  // namespace leafctl::serve
