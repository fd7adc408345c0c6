#include "terminal/output_file.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "leaf/error.hpp"
#include "terminal/interrupt.hpp"
#include "text/line_wrap.hpp"

namespace leafctl {

OutputFile::OutputFile(int descriptor, std::string name)
    : descriptor_(descriptor), name_(std::move(name)), is_terminal_(isatty(descriptor) == 1) {}

std::size_t OutputFile::line_width() const noexcept {
  winsize window{};
  return ioctl(descriptor_, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
}

std::size_t OutputFile::prose_width() const noexcept {
  constexpr std::size_t narrowest = 20;
  return std::clamp(line_width(), narrowest, usual_line_width);
}

void OutputFile::write(std::string_view lines) {
  const InterruptGuard guard;
  std::size_t written = 0;
  std::size_t end = lines.size();
  while (written < end) {
    if (InterruptGuard::received() != 0 && end == lines.size()) {
      const bool between_lines = written == 0 || lines[written - 1] == '\n';
      end = between_lines ? written : lines.find('\n', written) + 1;
      continue;
    }
    const std::size_t piece = end_of_piece(lines, written, end) - written;
    const ssize_t count = ::write(descriptor_, lines.data() + written, piece);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      pollfd ready{descriptor_, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
  if (const int signal = InterruptGuard::received(); signal != 0) throw Interrupted{signal};
}

/// A pipe takes up to PIPE_BUF bytes at once or none of them, so what is written so is not mixed with what
/// others write. A longer line goes by itself.
std::size_t OutputFile::end_of_piece(std::string_view lines, std::size_t begin, std::size_t end) {
  if (end - begin <= PIPE_BUF || !is_pipe()) return end;
  const std::size_t last = lines.rfind('\n', begin + PIPE_BUF - 1);
  return (last != std::string_view::npos && last >= begin ? last : lines.find('\n', begin)) + 1;
}

bool OutputFile::is_pipe() {
  if (!is_pipe_) {
    struct stat status {};
    is_pipe_ = fstat(descriptor_, &status) == 0 && S_ISFIFO(status.st_mode);
  }
  return *is_pipe_;
}

void OutputFile::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  // After EINTR Linux has closed the descriptor.
  if (::close(descriptor) != 0 && errno != EINTR) fail(errno);
}

void OutputFile::fail(int error) const {
  if (error == EPIPE && InterruptGuard::received() != 0) throw Interrupted{InterruptGuard::received()};
  if (error == EPIPE) throw BrokenPipe{};
  throw leaf::Error(leaf::ErrorCode::failed,
                    fmt::format("cannot write to {}: {}", name_, std::strerror(error)));
}

}  // namespace leafctl
