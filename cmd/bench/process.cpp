#include "bench/process.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

[[noreturn]] void fail(const char* what) {
  throw leaf::Error(leaf::ErrorCode::failed, fmt::format("{}: {}", what, std::strerror(errno)),
                    "try fewer processes"_hint);
}

[[noreturn]] void run_and_exit(const std::function<void(const ProcessLink&)>& job, const ProcessLink& link,
                               pid_t parent) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before
  try {
    job(link);
    _exit(0);
  } catch (...) {
    _exit(1);
  }
}

}  // namespace

ProcessLink::ProcessLink(ProcessLink&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

ProcessLink::~ProcessLink() {
  if (socket_ == -1) return;
  // Processes that were forked later hold copies.
  shutdown(socket_, SHUT_RDWR);
  close(socket_);
}

bool ProcessLink::signal() const noexcept {
  return send(socket_, "!", 1, MSG_NOSIGNAL) == 1;
}

bool ProcessLink::wait() const noexcept {
  char sign = 0;
  ssize_t size = -1;
  do size = recv(socket_, &sign, 1, 0);
  while (size == -1 && errno == EINTR);
  return size == 1;
}

ForkedProcess::ForkedProcess(ProcessLink link, pid_t process) noexcept
    : link_(std::move(link)), process_(process) {}

ForkedProcess::ForkedProcess(ForkedProcess&& other) noexcept
    : link_(std::move(other.link_)), process_(std::exchange(other.process_, -1)) {}

ForkedProcess ForkedProcess::start(const std::function<void(const ProcessLink&)>& job) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) fail("cannot link processes");
  ProcessLink near(sockets[0]);
  ProcessLink far(sockets[1]);
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) {
    close(near.socket());
    run_and_exit(job, far, parent);
  }
  if (process == -1) fail("cannot fork");
  // Not shut down, as its end would be: the child has the other copy.
  close(far.release());
  return {std::move(near), process};
}

ForkedProcess::~ForkedProcess() {
  if (process_ == -1) return;
  { const ProcessLink ends_here = std::move(link_); }
  join();
}

bool ForkedProcess::join() noexcept {
  int status = 0;
  while (waitpid(process_, &status, 0) == -1 && errno == EINTR) {
  }
  process_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace leafctl
