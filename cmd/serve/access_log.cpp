#include "serve/access_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "leaf/detail/rfc3339.hpp"
#include "leaf/error.hpp"
#include "serve/json_text.hpp"

namespace leafctl::serve {

namespace {

constexpr std::size_t most_held = 8UL * 1024 * 1024;

std::string now() {
  return leaf::detail::format_rfc3339(
      std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()));
}

/// What of it nobody takes.
std::string_view write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

AccessLog::AccessLog(std::string file, std::function<void(const std::string&)> warn)
    : file_(std::move(file)), warn_(std::move(warn)), descriptor_(open()) {
  writer_ = std::thread([this] { write_all(); });
}

AccessLog::~AccessLog() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  writer_.join();
  if (file_ != "-") close(descriptor_);
  if (next_descriptor_ != -1) close(next_descriptor_);
}

int AccessLog::open() const {
  if (file_ == "-") return STDOUT_FILENO;
  const int descriptor = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
  if (descriptor == -1)
    throw leaf::Error(leaf::ErrorCode::usage,
                      fmt::format("cannot open access log '{}': {}", file_, std::strerror(errno)));
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
  }
  changed_.notify_one();
}

/// The first failure is said; then nothing until lines are taken again.
void AccessLog::write_lines(std::string_view lines) {
  if (lines.empty()) return;
  if (is_torn_ && write_whole(descriptor_, "\n").empty()) is_torn_ = false;
  const std::string_view left = write_whole(descriptor_, lines);
  const int reason = errno;
  if (left.size() < lines.size()) is_torn_ = !left.empty() && lines[lines.size() - left.size() - 1] != '\n';
  lost_.fetch_add(static_cast<std::uint64_t>(std::ranges::count(left, '\n')), std::memory_order_relaxed);
  if (!std::exchange(is_failing_, !left.empty()) && is_failing_)
    warn_(fmt::format("cannot write to access log '{}': {}", file_, std::strerror(reason)));
}

void AccessLog::write_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || next_descriptor_ != -1 || !lines_.empty(); });
    std::string lines = std::exchange(lines_, {});
    if (const std::uint64_t left_out = std::exchange(left_out_, 0))
      lines += fmt::format("{{\"time\":\"{}\",\"left_out\":{}}}\n", now(), left_out);
    const int next = std::exchange(next_descriptor_, -1);
    const bool ends = ends_;
    lock.unlock();
    write_lines(lines);
    if (next != -1) {
      close(std::exchange(descriptor_, next));
      is_torn_ = false;
    }
    lock.lock();
    if (ends && lines_.empty()) return;
  }
}

}  // namespace leafctl::serve
