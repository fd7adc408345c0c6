#include "serve/access_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

#include "leaf/detail/rfc3339.hpp"
#include "leaf/error.hpp"
#include "serve/json_text.hpp"

namespace leafctl::serve {

namespace {

/// For the reader of a pipe that is to be left.
constexpr std::chrono::milliseconds last_patience{500};
constexpr std::size_t most_held = 8UL * 1024 * 1024;

std::string now() {
  return leaf::detail::format_rfc3339(
      std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()));
}

bool is_pipe(const std::string& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

/// False if `bell` rings, and a reader still does not go on.
bool can_write(int descriptor, int bell) {
  pollfd watched[] = {{descriptor, POLLOUT, 0}, {bell, POLLIN, 0}};
  int result = 0;
  do {
    result = poll(watched, 2, -1);
  } while (result < 0 && errno == EINTR);
  if (watched[0].revents != 0) return true;
  return poll(watched, 1, static_cast<int>(last_patience.count())) > 0;
}

/// What of it nobody takes before `bell` rings.
std::string_view write_whole(int descriptor, int bell, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      if (can_write(descriptor, bell)) continue;
      errno = EAGAIN;
    }
    if (count < 0) break;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

AccessLog::AccessLog(std::string file, std::function<void(const std::string&)> warn)
    : file_(std::move(file)),
      warn_(std::move(warn)),
      descriptor_(open()),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (bell_ == -1) throw std::system_error(errno, std::generic_category(), "eventfd");
  writer_ = std::thread([this] { write_all(); });
}

AccessLog::~AccessLog() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  writer_.join();
  close(bell_);
  if (file_ != "-") close(descriptor_);
  if (next_descriptor_ != -1) close(next_descriptor_);
}

/// A pipe is not waited for, neither until somebody reads it nor until it takes more.
int AccessLog::open() const {
  if (file_ == "-") return STDOUT_FILENO;
  const int descriptor =
      ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
  if (descriptor == -1) {
    const int error = errno;
    throw leaf::Error(
        leaf::ErrorCode::usage,
        fmt::format("cannot open access log '{}': {}", file_,
                    error == ENXIO && is_pipe(file_) ? "no process reads this pipe" : std::strerror(error)));
  }
  return descriptor;
}

void AccessLog::add(const Entry& entry) {
  const std::string time = now();
  const std::lock_guard lock(mutex_);
  if (lines_.size() > most_held) {
    ++left_out_;
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const bool was_empty = lines_.empty();
  fmt::format_to(std::back_inserter(lines_), R"({{"time":"{}","remote":)", time);
  append_json(entry.remote, lines_);
  fmt::format_to(std::back_inserter(lines_), R"(,"protocol":"{}",)", name_of(entry.protocol));
  lines_ += entry.protocol == Protocol::http ? R"("method":)" : R"("command":)";
  append_json(entry.method, lines_);
  if (!entry.subject.empty()) {
    lines_ += entry.protocol == Protocol::http ? R"(,"path":)" : R"(,"tag":)";
    append_json(entry.subject, lines_);
  }
  if (entry.status != 0) fmt::format_to(std::back_inserter(lines_), R"(,"status":{})", entry.status);
  fmt::format_to(std::back_inserter(lines_), ",\"outcome\":\"{}\"}}\n", name_of(entry.outcome));
  if (was_empty) changed_.notify_one();
}

void AccessLog::open_again() {
  if (file_ == "-") return;
  const int descriptor = open();
  {
    const std::lock_guard lock(mutex_);
    if (next_descriptor_ != -1) close(next_descriptor_);
    next_descriptor_ = descriptor;
    of_former_ = lines_.size();
    // Whoever reads the one of before may have stopped.
    eventfd_write(bell_, 1);
  }
  changed_.notify_one();
}

/// The first failure is said; then nothing until lines are taken again.
void AccessLog::write_lines(std::string_view lines) {
  if (lines.empty()) return;
  if (is_torn_ && write_whole(descriptor_, bell_, "\n").empty()) is_torn_ = false;
  const std::string_view left = write_whole(descriptor_, bell_, lines);
  const int reason = errno;
  if (left.size() < lines.size()) is_torn_ = !left.empty() && lines[lines.size() - left.size() - 1] != '\n';
  is_stuck_ = !left.empty() && reason == EAGAIN;
  lost_.fetch_add(static_cast<std::uint64_t>(std::ranges::count(left, '\n')), std::memory_order_relaxed);
  if (!std::exchange(is_failing_, !left.empty()) && is_failing_)
    warn_(fmt::format("cannot write to access log '{}': {}", file_, std::strerror(reason)));
}

void AccessLog::go_over_to(int descriptor) {
  close(std::exchange(descriptor_, descriptor));
  is_torn_ = is_stuck_ = false;
  const std::lock_guard lock(mutex_);
  eventfd_t rung = 0;
  if (next_descriptor_ == -1) eventfd_read(bell_, &rung);
}

void AccessLog::write_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || next_descriptor_ != -1 || !lines_.empty(); });
    std::string lines = std::exchange(lines_, {});
    const std::size_t of_former = std::exchange(of_former_, 0);
    if (const std::uint64_t left_out = std::exchange(left_out_, 0))
      lines += fmt::format("{{\"time\":\"{}\",\"left_out\":{}}}\n", now(), left_out);
    const int next = std::exchange(next_descriptor_, -1);
    const bool ends = ends_;
    lock.unlock();
    std::string_view to_write = lines;
    if (next != -1) {
      // What came before goes where it was to go, unless that takes nothing more.
      if (!is_stuck_) {
        write_lines(to_write.substr(0, of_former));
        to_write.remove_prefix(of_former);
      }
      go_over_to(next);
    }
    write_lines(to_write);
    lock.lock();
    if (ends && lines_.empty()) return;
  }
}

}  // namespace leafctl::serve
