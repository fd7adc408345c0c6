#include "shell/leafctl_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "shell/face.hpp"

namespace leaf::shell {

namespace {

/// The shell's own handler would take the program's status from us.
class NoChildSignals {
 public:
  NoChildSignals() {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before_);
  }
  ~NoChildSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  NoChildSignals(const NoChildSignals&) = delete;
  NoChildSignals& operator=(const NoChildSignals&) = delete;

  const sigset_t& before() const noexcept { return before_; }

 private:
  sigset_t before_;
};

/// An interactive shell ignores signals that its commands do not. Those that would stop the program stay
/// ignored: the shell waits for it.
sigset_t signals_to_reset() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGQUIT, SIGTERM}) {
    if (!face::ignores(signal)) sigaddset(&signals, signal);
  }
  return signals;
}

struct Pipe {
  std::array<int, 2> ends{-1, -1};

  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  void close_writing_end() {
    close(ends[1]);
    ends[1] = -1;
  }
};

/// As posix_spawn(), whose result it returns.
int spawn(const std::string& program, const std::vector<const char*>& arguments, char* const* environment,
          const Pipe& output, const sigset_t& mask, pid_t& child) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  if (output.ends[1] >= 0) posix_spawn_file_actions_adddup2(&files, output.ends[1], STDOUT_FILENO);
  const sigset_t reset = signals_to_reset();
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setsigdefault(&attributes, &reset);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const char* word : arguments) words.push_back(const_cast<char*>(word));
  words.push_back(nullptr);
  const int error = posix_spawn(&child, program.c_str(), &files, &attributes, words.data(), environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

/// Whether to go on with a call that a signal has interrupted. From a terminal the program gets it too, and a
/// second one does no harm.
bool goes_on(pid_t child) {
  if (errno != EINTR) return false;
  if (const int signal = face::signal_to_end(); signal != 0) kill(child, signal);
  return true;
}

std::string read_all(int descriptor, pid_t child) {
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t length = read(descriptor, piece.data(), piece.size());
    if (length > 0) {
      text.append(piece.data(), static_cast<std::size_t>(length));
    } else if (length == 0 || !goes_on(child)) {
      return text;
    }
  }
}

int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (!goes_on(child)) return EXIT_FAILURE;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::optional<Ended> run(const std::string& program, const std::vector<const char*>& arguments,
                         char* const* environment, Output output) {
  Pipe pipe;
  if (output == Output::kept && pipe2(pipe.ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const NoChildSignals signals;
  pid_t child = -1;
  if (const int error = spawn(program, arguments, environment, pipe, signals.before(), child); error != 0) {
    errno = error;
    return std::nullopt;
  }
  Ended ended;
  if (output == Output::kept) {
    pipe.close_writing_end();
    ended.output = read_all(pipe.ends[0], child);
  }
  ended.status = status_of(child);
  return ended;
}

}  // namespace leaf::shell
