#include "terminal/line_reader.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "leaf/error.hpp"

namespace leafctl {

LineReader::LineReader(int descriptor, std::string name)
    : descriptor_(descriptor), name_(std::move(name)), buffer_(max_line) {}

std::string_view LineReader::next_lines() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  while (true) {
    if (end_ == buffer_.size()) {
      begin_ = end_;
      skips_line_ = true;
      return {buffer_.data(), end_};
    }
    const std::size_t came = read_more();
    if (skips_line_) skip_line();
    const std::string_view all(buffer_.data(), end_);
    const auto newline = all.rfind('\n');
    if (came == 0) begin_ = end_;
    if (came != 0 && newline != all.npos) begin_ = newline + 1;
    if (came == 0 || begin_ != 0) return all.substr(0, begin_);
  }
}

void LineReader::skip_line() {
  const auto newline = std::string_view(buffer_.data(), end_).find('\n');
  skips_line_ = newline == std::string_view::npos;
  const std::size_t skipped = skips_line_ ? end_ : newline + 1;
  std::memmove(buffer_.data(), buffer_.data() + skipped, end_ - skipped);
  end_ -= skipped;
}

std::size_t LineReader::read_more() {
  while (true) {
    const ssize_t count = read(descriptor_, buffer_.data() + end_, buffer_.size() - end_);
    if (count >= 0) {
      end_ += static_cast<std::size_t>(count);
      return static_cast<std::size_t>(count);
    }
    if (errno == EAGAIN) {
      pollfd ready{descriptor_, POLLIN, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      throw leaf::Error(leaf::ErrorCode::failed,
                        fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
    }
  }
}

}  // namespace leafctl
