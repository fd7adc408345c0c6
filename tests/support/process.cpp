#include "support/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace leaf::test {

namespace {

/// A file in memory: unlike a pipe it takes any amount while nobody reads.
int memory_file(const std::string& content) {
  const int file = memfd_create("leaf-test", MFD_CLOEXEC);
  if (file < 0 || write(file, content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      lseek(file, 0, SEEK_SET) != 0) {
    throw std::runtime_error("cannot make a file in memory");
  }
  return file;
}

int status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const std::string& input)
    : output_(memory_file("")) {
  const int input_file = memory_file(input);
  std::vector<std::string> words{"setpriv", "--pdeathsig", "KILL"};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input_file, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output_, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output_, STDERR_FILENO);
  const int error = posix_spawnp(&id_, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(input_file);
  if (error != 0) throw std::runtime_error(fmt::format("cannot start {}: error {}", words[0], error));
}

Process::~Process() {
  signal(SIGKILL);
  wait();
  close(output_);
}

void Process::signal(int number) {
  if (running()) kill(id_, number);
}

bool Process::running() {
  int status = 0;
  if (!status_ && waitpid(id_, &status, WNOHANG) == id_) status_ = status_of(status);
  return !status_;
}

int Process::wait() {
  int status = 0;
  if (!status_) status_ = waitpid(id_, &status, 0) == id_ ? status_of(status) : -1;
  return *status_;
}

std::string Process::output() const {
  std::string text;
  std::array<char, 4096> part{};
  ssize_t size;
  while ((size = pread(output_, part.data(), part.size(), static_cast<off_t>(text.size()))) > 0) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::string run(const std::vector<std::string>& command, const std::string& input) {
  Process process(command, input);
  if (const int status = process.wait(); status != 0) {
    throw std::runtime_error(
        fmt::format("{} ended with {}:\n{}", fmt::join(command, " "), status, process.output()));
  }
  return process.output();
}

std::vector<std::string> as_postgres(std::vector<std::string> command) {
  if (geteuid() != 0) return command;
  const std::vector<std::string> prefix{"setpriv",        "--reuid=postgres", "--regid=postgres",
                                        "--clear-groups", "--pdeathsig",      "KILL"};
  command.insert(command.begin(), prefix.begin(), prefix.end());
  return command;
}

}  // namespace leaf::test
