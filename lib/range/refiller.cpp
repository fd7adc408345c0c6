#include "range/refiller.hpp"
#include "text/duration_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <system_error>

#include "store/retry.hpp"
#include "text/hint.hpp"

namespace leaf::range {

using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds check_every{1};

}  // namespace

milliseconds pause_after(int failures, bool retryable) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int longest = std::min(retryable ? 2'000 : 60'000, 100 << std::min(failures - 1, 10));
  return milliseconds(std::uniform_int_distribution<int>(longest * 3 / 4, longest)(random));
}

void RefilledBuffer::note_granted_by(const StoreIdentity& store) {
  const std::lock_guard lock(store_mutex_);
  granted_by_ = store;
}

void RefilledBuffer::fetch(Store& store) {
  const Refill next = refill(store);
  {
    const std::lock_guard lock(store_mutex_);
    if (next.replaces_rest || (granted_by_ && *granted_by_ != next.store)) buffer.drain();
    granted_by_ = next.store;
  }
  buffer.publish(next.range, next.mark, next.label);
}

void RefilledBuffer::check(Store& store) {
  const auto now = clock_.steady_now();
  const std::uint64_t word = buffer.view().word;
  if (now - checked_at_ < name_lasts || std::exchange(checked_word_, word) == word) return;
  checked_at_ = now;
  const StoreIdentity here = store.identity();
  const std::lock_guard lock(store_mutex_);
  if (granted_by_ && *granted_by_ != here) buffer.drain();
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
  if (have_thread(queue_.size() > static_cast<std::size_t>(idle_threads_))) return true;
  queue_.erase({buffer.due_, &buffer});
  buffer.queued_ = false;
  buffer.requested_.store(false, std::memory_order_relaxed);
  return false;
}

bool Refiller::have_thread(bool all_busy) {
  if (!all_busy || threads_.size() >= static_cast<std::size_t>(options_.max_threads)) return true;
  try {
    threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    return !threads_.empty();
  }
  return true;
}

void Refiller::watch(Refillable& buffer) {
  const Lock lock(mutex_);
  checks_.emplace(clock_.steady_now() + check_every, &buffer);
  have_thread(threads_.empty());
  work_.notify_one();
}

void Refiller::await(Refillable& buffer, const std::function<bool()>& ready) {
  Lock lock(mutex_);
  const bool tries_once = options_.timeout == milliseconds::zero();
  const Time deadline = clock_.steady_now() + store::allowed(options_.timeout);
  const std::uint64_t begun_before = buffer.fetches_begun_;
  while (!ready()) {
    if (buffer.failure_ && (tries_once || !buffer.failure_->retryable())) {
      if (buffer.fetches_begun_ > begun_before) throw Error(*buffer.failure_);
      // Somebody may have mended it since: every caller has it looked at anew.
      if (buffer.queued_) fetch_now(buffer, lock);
    }
    if (!buffer.requested_.exchange(true, std::memory_order_relaxed) && !fetch_now(buffer, lock)) {
      throw Error(ErrorCode::unavailable,
                  fmt::format("no thread could be started to fetch a {}", buffer.what()),
                  "check the limit of processes, 'ulimit -u'"_hint);
    }
    if (clock_.steady_now() >= deadline) throw timed_out(buffer);
    clock_.wait_until(lock, buffer.changed_, deadline);
  }
}

Error Refiller::timed_out(const Refillable& buffer) const {
  const std::string waited =
      fmt::format("no {} came within {}", buffer.what(), text_of(store::allowed(options_.timeout)));
  if (!buffer.failure_) return {ErrorCode::unavailable, waited, "the store is slow; try again"_hint};
  return {ErrorCode::unavailable, fmt::format("{}: {}", waited, buffer.failure_->what()),
          buffer.failure_->hint(), buffer.failure_->sqlstate()};
}

Refiller::Task Refiller::next_due(Lock& lock) {
  while (!stopping_) {
    const Time now = clock_.steady_now();
    if (!queue_.empty() && queue_.begin()->first <= now) {
      Refillable* const buffer = queue_.begin()->second;
      queue_.erase(queue_.begin());
      buffer->queued_ = false;
      return {.buffer = buffer};
    }
    if (!checks_.empty() && checks_.begin()->first <= now) {
      Refillable* const buffer = checks_.begin()->second;
      checks_.erase(checks_.begin());
      return {.buffer = buffer, .is_check = true};
    }
    ++idle_threads_;
    if (queue_.empty() && checks_.empty()) {
      work_.wait(lock);
    } else {
      const Time fetch_at = queue_.empty() ? Time::max() : queue_.begin()->first;
      const Time check_at = checks_.empty() ? Time::max() : checks_.begin()->first;
      clock_.wait_until(lock, work_, std::min(fetch_at, check_at));
    }
    --idle_threads_;
  }
  return {};
}

void Refiller::run() {
  Store store(store_options_);
  Lock lock(mutex_);
  for (Task task = next_due(lock); task.buffer != nullptr; task = next_due(lock)) {
    if (task.is_check) {
      check(*task.buffer, store, lock);
    } else {
      fetch(*task.buffer, store, lock);
    }
  }
}

void Refiller::check(Refillable& buffer, Store& store, Lock& lock) {
  lock.unlock();
  try {
    buffer.check(store);
  } catch (const std::exception&) {
    // The store is away, or a folder is: whoever needs a range is told.
  }
  lock.lock();
  checks_.emplace(clock_.steady_now() + check_every, &buffer);
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
