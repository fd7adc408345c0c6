#include "serve/access_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

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

/// False if nobody takes it.
bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

AccessLog::AccessLog(std::string file) : file_(std::move(file)) {
  open();
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
}

void AccessLog::open() {
  if (file_ == "-") {
    descriptor_ = STDOUT_FILENO;
    return;
  }
  const int descriptor = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
  if (descriptor == -1)
    throw leaf::Error(leaf::ErrorCode::usage,
                      fmt::format("cannot open access log '{}': {}", file_, std::strerror(errno)));
  if (descriptor_ != -1) close(descriptor_);
  descriptor_ = descriptor;
}

void AccessLog::add(const Entry& entry) {
  const std::string time = now();
  const std::lock_guard lock(mutex_);
  if (lines_.size() > most_held) {
    ++left_out_;
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
  {
    const std::lock_guard lock(mutex_);
    is_to_open_ = true;
  }
  changed_.notify_one();
}

void AccessLog::write_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || is_to_open_ || !lines_.empty(); });
    std::string lines = std::exchange(lines_, {});
    if (const std::uint64_t left_out = std::exchange(left_out_, 0))
      lines += fmt::format("{{\"time\":\"{}\",\"left_out\":{}}}\n", now(), left_out);
    const bool opens = std::exchange(is_to_open_, false);
    const bool ends = ends_;
    lock.unlock();
    static_cast<void>(write_whole(descriptor_, lines));
    try {
      if (opens) open();
    } catch (const leaf::Error&) {
      // The one of before still serves.
    }
    lock.lock();
    if (ends && lines_.empty()) return;
  }
}

}  // namespace leafctl::serve
