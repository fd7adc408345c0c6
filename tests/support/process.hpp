#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace leaf::test {

/// A child process; it is killed when its object goes, or when the test itself is. Not thread safe.
class Process {
 public:
  /// Starts `command`, found in PATH, with `input` as its standard input. Throws std::runtime_error.
  explicit Process(const std::vector<std::string>& command, const std::string& input = "");
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const noexcept { return id_; }
  /// Does nothing once it has ended.
  void signal(int number);
  bool running();
  /// Waits for its end; the exit status, or 128 and the signal's number.
  int wait();
  /// What it has written so far, standard error included.
  std::string output() const;

 private:
  int output_;
  pid_t id_ = 0;
  std::optional<int> status_;
};

/// Runs a command to its end. Throws std::runtime_error with its output if it fails.
std::string run(const std::vector<std::string>& command, const std::string& input = "");

/// The command, changed so that root runs it as the user `postgres`.
std::vector<std::string> as_postgres(std::vector<std::string> command);

}  // namespace leaf::test
