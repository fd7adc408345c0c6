#include "serve/end_guard.hpp"

#include <cstdlib>

namespace leafctl::serve {

EndGuard::~EndGuard() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  changed_.notify_one();
  if (watcher_.joinable()) watcher_.join();
}

void EndGuard::end_by(Time time) {
  const std::lock_guard lock(mutex_);
  by_ = time;
  changed_.notify_one();
  if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
}

void EndGuard::watch() {
  std::unique_lock lock(mutex_);
  while (!has_ended_) {
    if (std::chrono::steady_clock::now() >= by_) std::_Exit(0);
    changed_.wait_until(lock, by_);
  }
}

}  // namespace leafctl::serve
