#include "serve/jobs.hpp"

#include <system_error>
#include <utility>

namespace leafctl::serve {

Jobs::Jobs(std::size_t most_threads) : most_threads_(most_threads) {
  threads_.emplace_back([this] { work(); });
}

Jobs::~Jobs() {
  end();
}

Jobs::Ticket Jobs::add(Job job) {
  const std::lock_guard lock(mutex_);
  if (ends_) return 0;
  const Ticket ticket = ++last_;
  waiting_.emplace(ticket, std::move(job));
  if (waiting_.size() > idle_ && threads_.size() < most_threads_) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // Those there are do it.
    }
  }
  changed_.notify_one();
  return ticket;
}

bool Jobs::replace(Ticket ticket, Job job) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return false;
  found->second = std::move(job);
  return true;
}

bool Jobs::take_back(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  return waiting_.erase(ticket) == 1;
}

void Jobs::end() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.clear();
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

void Jobs::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    --idle_;
    if (ends_) return;
    {
      const Job job = std::move(waiting_.extract(waiting_.begin()).mapped());
      lock.unlock();
      job();
    }
    lock.lock();
  }
}

}  // namespace leafctl::serve
