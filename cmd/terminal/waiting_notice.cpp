#include "terminal/waiting_notice.hpp"

#include <fmt/format.h>

#include <system_error>

#include "terminal/interrupt.hpp"
#include "text/numbers.hpp"

namespace leafctl {

namespace {

/// Whatever takes no longer is no wait.
constexpr std::chrono::milliseconds moment{500};

}  // namespace

WaitingNotice::WaitingNotice(Messages& messages, std::chrono::milliseconds timeout) : messages_(messages) {
  const bool is_seen = messages.is_terminal() && !messages.is_quiet();
  if (!is_seen || (timeout <= moment && timeout != std::chrono::milliseconds::zero())) return;
  try {
    thread_ = std::thread([this, timeout] { show_after_a_moment(timeout); });
  } catch (const std::system_error&) {
    // The wait goes on without.
  }
}

WaitingNotice::~WaitingNotice() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void WaitingNotice::show_after_a_moment(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto is_over = [this] { return is_over_; };
  if (ended_.wait_for(lock, moment, is_over)) return;
  const std::string text = timeout == std::chrono::milliseconds::zero()
                               ? "waiting for the store"
                               : fmt::format("waiting up to {} for the store", format_duration(timeout));
  try {
    if (!messages_.shows_progress()) {
      messages_.info(text);
      return;
    }
    messages_.progress(text);
    ended_.wait(lock, is_over);
    messages_.progress("");
  } catch (const Interrupted&) {
    // Whoever waits sees the signal too.
  }
}

}  // namespace leafctl
