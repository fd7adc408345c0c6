#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "terminal/messages.hpp"

namespace leafctl {

/// While it lives the store is waited for: after a moment that is said on a terminal, and taken back when it
/// is over. Nothing else may be said meanwhile, and no process may be forked.
class WaitingNotice {
 public:
  /// `timeout` is how long the wait may last; zero as for the store.
  WaitingNotice(Messages& messages, std::chrono::milliseconds timeout);
  ~WaitingNotice();
  WaitingNotice(const WaitingNotice&) = delete;
  WaitingNotice& operator=(const WaitingNotice&) = delete;

 private:
  void show_after_a_moment(std::chrono::milliseconds timeout);

  Messages& messages_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread thread_;
};

/// Returns what `work` returns, and gives notice meanwhile.
template <class Work>
auto waited_for(Messages& messages, std::chrono::milliseconds timeout, Work work) {
  const WaitingNotice notice(messages, timeout);
  return work();
}

}  // namespace leafctl
