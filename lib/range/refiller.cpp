#include "range/refiller.hpp"
#include "duration_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <system_error>

#include "store/retry.hpp"

namespace leaf::range {

using std::chrono::milliseconds;

milliseconds pause_after(int failures, bool retryable) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int longest = std::min(retryable ? 2'000 : 60'000, 100 << std::min(failures - 1, 10));
  return milliseconds(std::uniform_int_distribution<int>(longest * 3 / 4, longest)(random));
}

Refiller::Refiller(StoreOptions store, Options options)
    : store_options_(std::move(store)), options_(std::move(options)), clock_(*store_options_.clock) {
  const Store checks_the_url(store_options_);
}

Refiller::~Refiller() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Refiller::request(Refillable& buffer) {
  if (buffer.requested_.load(std::memory_order_relaxed)) return;
  const Lock lock(mutex_);
  if (!buffer.wants_fetch() || buffer.requested_.exchange(true, std::memory_order_relaxed)) return;
  fetch_now(buffer, lock);
}

void Refiller::enqueue(Refillable& buffer, Time due, const Lock&) {
  if (buffer.queued_) queue_.erase({buffer.due_, &buffer});
  buffer.queued_ = true;
  buffer.due_ = due;
  queue_.emplace(due, &buffer);
}

bool Refiller::fetch_now(Refillable& buffer, const Lock& lock) {
  enqueue(buffer, clock_.steady_now(), lock);
  work_.notify_one();
  // A thread that was told of other work and has not woken yet still counts as idle.
  const bool all_busy = queue_.size() > static_cast<std::size_t>(idle_threads_);
  if (!all_busy || threads_.size() >= static_cast<std::size_t>(options_.max_threads)) return true;
  try {
    threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    if (!threads_.empty()) return true;
    queue_.erase({buffer.due_, &buffer});
    buffer.queued_ = false;
    buffer.requested_.store(false, std::memory_order_relaxed);
    return false;
  }
  return true;
}

void Refiller::await(Refillable& buffer, const std::function<bool()>& ready) {
  Lock lock(mutex_);
  const bool tries_once = options_.timeout == milliseconds::zero();
  const Time deadline = clock_.steady_now() + store::allowed(options_.timeout);
  const std::uint64_t begun_before = buffer.fetches_begun_;
  // A failure that waiting does not cure is looked at anew by every caller: somebody may have mended it.
  if (buffer.queued_ && buffer.failure_ && (tries_once || !buffer.failure_->retryable())) {
    fetch_now(buffer, lock);
  }
  while (!ready()) {
    const bool failed_since = buffer.failure_ && buffer.fetches_begun_ > begun_before;
    if (failed_since && (tries_once || !buffer.failure_->retryable())) throw Error(*buffer.failure_);
    if (!buffer.requested_.exchange(true, std::memory_order_relaxed) && !fetch_now(buffer, lock)) {
      throw Error(ErrorCode::unavailable,
                  fmt::format("no thread could be started to fetch a {}", buffer.what()),
                  "check the limit of processes, 'ulimit -u'");
    }
    if (clock_.steady_now() >= deadline) throw timed_out(buffer);
    clock_.wait_until(lock, buffer.changed_, deadline);
  }
}

Error Refiller::timed_out(const Refillable& buffer) const {
  const std::string waited =
      fmt::format("no {} came within {}", buffer.what(), text_of(store::allowed(options_.timeout)));
  if (!buffer.failure_) return {ErrorCode::unavailable, waited, "the store is slow; try again"};
  return {ErrorCode::unavailable, fmt::format("{}: {}", waited, buffer.failure_->what()),
          buffer.failure_->hint(), buffer.failure_->sqlstate()};
}

Refillable* Refiller::next_due(Lock& lock) {
  while (!stopping_) {
    if (queue_.empty()) {
      ++idle_threads_;
      work_.wait(lock);
      --idle_threads_;
      continue;
    }
    const auto [due, buffer] = *queue_.begin();
    if (due <= clock_.steady_now()) {
      queue_.erase(queue_.begin());
      buffer->queued_ = false;
      return buffer;
    }
    ++idle_threads_;
    clock_.wait_until(lock, work_, due);
    --idle_threads_;
  }
  return nullptr;
}

void Refiller::run() {
  Store store(store_options_);
  Lock lock(mutex_);
  while (Refillable* buffer = next_due(lock)) fetch(*buffer, store, lock);
}

void Refiller::fetch(Refillable& buffer, Store& store, Lock& lock) {
  ++buffer.fetches_begun_;
  std::optional<Error> failure;
  lock.unlock();
  try {
    buffer.fetch(store);
  } catch (const Error& error) {
    failure = error;
  } catch (const std::exception& error) {
    failure = Error(ErrorCode::failed, error.what());
  }
  if (failure && options_.on_failure) {
    const std::lock_guard report(report_mutex_);
    options_.on_failure(buffer, *failure);
  }
  lock.lock();

  buffer.failure_ = failure;
  if (!failure) {
    buffer.failures_in_a_row_ = 0;
    buffer.requested_.store(false, std::memory_order_relaxed);
  } else if (failure->retryable() || !buffer.is_used_up()) {
    ++buffer.failures_in_a_row_;
    const auto pause = pause_after(buffer.failures_in_a_row_, failure->retryable());
    // This thread, or another one that waits, comes back to it in time.
    enqueue(buffer, clock_.steady_now() + pause, lock);
  } else {
    // Nothing to bridge: whoever calls next asks anew.
    buffer.requested_.store(false, std::memory_order_relaxed);
  }
  buffer.changed_.notify_all();
}

}  // namespace leaf::range
