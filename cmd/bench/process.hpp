#pragma once

#include <sys/types.h>

#include <functional>
#include <utility>

namespace leafctl {

/// One end of the line between a process and one that it forked, over which each says that it has come so
/// far. Ends with either process.
class ProcessLink {
 public:
  explicit ProcessLink(int socket) noexcept : socket_(socket) {}
  ProcessLink(ProcessLink&& other) noexcept;
  ProcessLink& operator=(ProcessLink&&) = delete;
  /// Ends the line.
  ~ProcessLink();

  /// False if the line has ended.
  bool signal() const noexcept;
  /// Waits for the other end's signal(); false if the line ends before.
  bool wait() const noexcept;
  /// For poll(): readable when wait() would not block.
  int socket() const noexcept { return socket_; }
  /// Gives the socket up without ending the line.
  int release() noexcept { return std::exchange(socket_, -1); }

 private:
  int socket_;
};

/// A process that does one job. It is killed if the one that forked it dies.
class ForkedProcess {
 public:
  /// The child runs `job` and exits, with status 0 unless it throws. Precondition: this process has one
  /// thread and no connection to a store. Throws leaf::Error (failed).
  static ForkedProcess start(const std::function<void(const ProcessLink&)>& job);
  ForkedProcess(ForkedProcess&& other) noexcept;
  ForkedProcess& operator=(ForkedProcess&&) = delete;
  /// Ends the line and waits for the process to end.
  ~ForkedProcess();

  const ProcessLink& link() const noexcept { return link_; }
  /// Waits for the process to end; true if it exited with status 0. To be called once.
  bool join() noexcept;

 private:
  ForkedProcess(ProcessLink link, pid_t process) noexcept;

  ProcessLink link_;
  pid_t process_;
};

}  // namespace leafctl
