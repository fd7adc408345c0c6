#include "serve/notices.hpp"

#include <utility>

namespace leafctl::serve {

namespace {

constexpr std::size_t most_waiting = 1000;

}  // namespace

Notices::Notices() : thread_([this] { say_all(); }) {}

Notices::~Notices() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Notices::add(Say say) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_waiting) return;
    waiting_.push_back(std::move(say));
  }
  changed_.notify_one();
}

void Notices::say_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Say say = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    say();
    lock.lock();
  }
}

}  // namespace leafctl::serve
