#include "race/storm.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace leaf::test {

namespace {

/// One call in so many asks for many IDs.
constexpr int many_one_in = 50;

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string content_of(int file) {
  std::string text;
  std::array<char, 65536> part{};
  ssize_t size;
  while ((size = pread(file, part.data(), part.size(), static_cast<off_t>(text.size()))) > 0) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

/// Of this process, those included that their parents have left behind.
std::vector<pid_t> children() {
  std::ifstream list(fmt::format("/proc/self/task/{}/children", getpid()));
  return {std::istream_iterator<pid_t>(list), {}};
}

std::runtime_error wrong(const std::string& what) {
  return std::runtime_error(what);
}

}  // namespace

Storm::Storm(std::string leafctl, std::vector<Tag> tags, std::int64_t many)
    : leafctl_(std::move(leafctl)), tags_(std::move(tags)), many_(many) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Storm::~Storm() {
  for (const pid_t process : children()) kill(process, SIGKILL);
  while (wait(nullptr) > 0 || errno == EINTR) {
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

void Storm::run(std::int64_t calls, std::size_t at_once, std::chrono::milliseconds between_kills) {
  auto next_kill = std::chrono::steady_clock::now() + between_kills;
  for (std::int64_t started = 0; started < calls;) {
    for (; calls_.size() < at_once && started < calls; ++started) start_any();
    reap_one();
    if (std::chrono::steady_clock::now() < next_kill) continue;
    kill_one();
    next_kill += between_kills;
  }
  kill_all();
  while (reap_one()) {
  }
}

void Storm::call_each_once() {
  for (Tag& tag : tags_) start(tag, 1, std::chrono::seconds(5));
  while (reap_one()) {
  }
}

void Storm::start_any() {
  Tag& tag = tags_[std::uniform_int_distribution<std::size_t>(0, tags_.size() - 1)(random_)];
  const bool asks_for_many = std::uniform_int_distribution<int>(1, many_one_in)(random_) == 1;
  start(tag, asks_for_many ? many_ : 1, std::chrono::minutes(2));
}

void Storm::start(Tag& tag, std::int64_t count, std::chrono::seconds timeout) {
  // A file in memory takes any amount while nobody reads.
  const int output = memfd_create("storm", MFD_CLOEXEC);
  if (output == -1) throw std::runtime_error("cannot make a file in memory");
  std::vector<std::string> words{
      leafctl_, "--timeout",          fmt::format("{}s", timeout.count()), "next", tag.name,
      "-n",     std::to_string(count)};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  pid_t process = 0;
  const int error = posix_spawn(&process, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::runtime_error(fmt::format("cannot start '{}': error {}", leafctl_, error));
  calls_[process] = {.tag = &tag, .count = count, .floor = tag.highest, .output = output};
}

/// Waits for a process to end; false if there is none.
bool Storm::reap_one() {
  int status = 0;
  const pid_t process = waitpid(-1, &status, 0);
  if (process == -1) {
    if (errno == EINTR) return true;
    if (errno == ECHILD) return false;
    throw std::runtime_error("cannot wait for a process");
  }
  const auto call = calls_.find(process);
  if (call == calls_.end()) return true;  // one that fetched
  const Call ended = call->second;
  calls_.erase(call);
  finish(ended, status);
  return true;
}

void Storm::finish(Call call, int status) {
  const std::string output = content_of(call.output);
  close(call.output);
  check(call, output, status);
}

void Storm::check(Call& call, const std::string& output, int status) {
  const std::int64_t printed = note_ids(call, output);
  if (call.killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw wrong(
        fmt::format("a call for tag '{}' ended with wait status {:#x}: {}", call.tag->name, status, output));
  }
  if (printed != call.count) {
    throw wrong(fmt::format("a call for {} IDs of tag '{}' printed {}", call.count, call.tag->name, printed));
  }
}

/// The lines of a killed call may be few, and the last one cut.
std::int64_t Storm::note_ids(Call& call, const std::string& output) {
  Tag& tag = *call.tag;
  std::int64_t ids = 0;
  for (std::size_t begin = 0, end; (end = output.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::int64_t id = 0;
    const char* const line_end = output.data() + end;
    const auto [rest, error] = std::from_chars(output.data() + begin, line_end, id);
    if (error != std::errc{} || rest != line_end) return ids;  // a message; check() shows it
    if (id <= call.floor)
      throw wrong(fmt::format("ID {} of tag '{}' came after {}", id, tag.name, call.floor));
    call.floor = id;
    const auto index = static_cast<std::size_t>(id);
    if (index >= tag.seen.size()) tag.seen.resize(2 * index);
    if (tag.seen[index]) throw wrong(fmt::format("ID {} of tag '{}' was printed twice", id, tag.name));
    tag.seen[index] = true;
    ++ids;
  }
  if (call.floor > tag.highest) tag.highest = call.floor;
  tag.printed += ids;
  return ids;
}

/// Null for one that has ended, or is spared. A process that fetches has the command line of the call that
/// left it behind.
Storm::Tag* Storm::tag_to_kill(pid_t process) {
  const std::string command_line = content_of(fmt::format("/proc/{}/cmdline", process));
  for (Tag& tag : tags_) {
    const std::string argument = fmt::format("{0}{1}{0}", '\0', tag.name);
    if (command_line.find(argument) != std::string::npos) return tag.spared ? nullptr : &tag;
  }
  return nullptr;
}

void Storm::kill_one() {
  std::vector<std::pair<pid_t, Tag*>> candidates;
  for (const pid_t process : children()) {
    if (Tag* const tag = tag_to_kill(process)) candidates.emplace_back(process, tag);
  }
  if (candidates.empty()) return;
  const auto [process, tag] =
      candidates[std::uniform_int_distribution<std::size_t>(0, candidates.size() - 1)(random_)];
  if (const auto call = calls_.find(process); call != calls_.end()) call->second.killed = true;
  ++tag->kills;
  kill(process, SIGKILL);
}

void Storm::kill_all() {
  for (const pid_t process : children()) {
    Tag* const tag = tag_to_kill(process);
    if (tag == nullptr) continue;
    if (const auto call = calls_.find(process); call != calls_.end()) call->second.killed = true;
    ++tag->kills;
    kill(process, SIGKILL);
  }
}

}  // namespace leaf::test
