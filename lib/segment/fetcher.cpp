#include "segment/fetcher.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace leaf::segment {

namespace {

using std::chrono::milliseconds;

/// 100 ms, doubled with each failure up to 2 s, less a random quarter: hosts that failed together come back
/// apart.
milliseconds pause_after(int failures) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int longest = std::min(2000, 100 << std::min(failures - 1, 5));
  return milliseconds(std::uniform_int_distribution<int>(longest * 3 / 4, longest)(random));
}

std::uint32_t mark_of(Range range) {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, range.size() / 10));
}

}  // namespace

Fetcher::Fetcher(StoreOptions store, SegmentOptions options)
    : store_options_(std::move(store)), options_(std::move(options)), clock_(*store_options_.clock) {
  const Store checks_the_url(store_options_);
  if (options_.timeout < milliseconds::zero()) throw Error(ErrorCode::usage, "the timeout is below zero");
  if (options_.max_step < 1 || options_.max_step > leaf::max_step) {
    throw Error(ErrorCode::usage, fmt::format("max_step is not from 1 to {}", leaf::max_step));
  }
  if (options_.max_connections < 1) throw Error(ErrorCode::usage, "max_connections is below 1");
}

Fetcher::~Fetcher() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Fetcher::request(TagState& tag) {
  if (tag.fetch_requested.load(std::memory_order_relaxed)) return;
  if (tag.fetch_requested.exchange(true, std::memory_order_relaxed)) return;
  const Lock lock(mutex_);
  if (!tag.buffer.wants_next()) {
    tag.fetch_requested.store(false, std::memory_order_relaxed);
    return;
  }
  enqueue(tag, clock_.steady_now(), lock);
}

void Fetcher::enqueue(TagState& tag, Time due, const Lock&) {
  if (tag.queued) queue_.erase({tag.due, &tag});
  tag.queued = true;
  tag.due = due;
  queue_.emplace(due, &tag);
  if (idle_threads_ == 0 && threads_.size() < static_cast<std::size_t>(options_.max_connections)) {
    threads_.emplace_back([this] { run(); });
  } else {
    work_.notify_one();
  }
}

Range Fetcher::wait_and_take(TagState& tag, std::uint64_t at_most) {
  Lock lock(mutex_);
  const Time deadline = clock_.steady_now() + options_.timeout;
  const std::uint64_t begun_before = tag.fetches_begun;
  // A failure that waiting does not cure is looked at anew by every caller: somebody may have mended it.
  if (tag.queued && tag.failure && !tag.failure->retryable()) enqueue(tag, clock_.steady_now(), lock);
  for (;;) {
    const auto taken = tag.buffer.take(at_most);
    if (!taken.range.empty()) {
      lock.unlock();
      if (taken.fetch_next) request(tag);
      return taken.range;
    }
    if (!tag.fetch_requested.exchange(true, std::memory_order_relaxed))
      enqueue(tag, clock_.steady_now(), lock);
    const bool failed_since = tag.failure && tag.fetches_begun > begun_before;
    if (failed_since && !tag.failure->retryable()) throw Error(*tag.failure);
    if (clock_.steady_now() >= deadline) {
      const std::string waited =
          fmt::format("no segment of tag '{}' came within {}", tag.name.str(), options_.timeout);
      if (!tag.failure) throw Error(ErrorCode::unavailable, waited, "the store is slow; try again");
      throw Error(ErrorCode::unavailable, fmt::format("{}: {}", waited, tag.failure->what()),
                  tag.failure->hint(), tag.failure->sqlstate());
    }
    clock_.wait_until(lock, tag.changed, deadline);
  }
}

TagState* Fetcher::next_due(Lock& lock) {
  while (!stopping_) {
    if (queue_.empty()) {
      ++idle_threads_;
      work_.wait(lock);
      --idle_threads_;
      continue;
    }
    const auto [due, tag] = *queue_.begin();
    if (due <= clock_.steady_now()) {
      queue_.erase(queue_.begin());
      tag->queued = false;
      return tag;
    }
    ++idle_threads_;
    clock_.wait_until(lock, work_, due);
    --idle_threads_;
  }
  return nullptr;
}

void Fetcher::run() {
  Store store(store_options_);
  Lock lock(mutex_);
  while (TagState* tag = next_due(lock)) fetch(*tag, store, lock);
}

void Fetcher::fetch(TagState& tag, Store& store, Lock& lock) {
  ++tag.fetches_begun;
  const Time begun = clock_.steady_now();
  const std::int64_t wish = tag.step_policy.wish(begun);
  std::optional<Grant> grant;
  std::optional<Error> failure;
  lock.unlock();
  try {
    grant = store.grant_segment(tag.name, wish);
  } catch (const Error& error) {
    failure = error;
  } catch (const std::exception& error) {
    failure = Error(ErrorCode::failed, error.what());
  }
  if (failure) report(tag, *failure);
  lock.lock();

  tag.failure = failure;
  if (grant) {
    tag.failures_in_a_row = 0;
    tag.step_policy.fetched(wish, grant->step, begun);
    tag.buffer.publish(grant->range, mark_of(grant->range));
    tag.fetch_requested.store(false, std::memory_order_relaxed);
  } else {
    ++tag.failures_in_a_row;
    enqueue(tag, clock_.steady_now() + pause_after(tag.failures_in_a_row), lock);
  }
  tag.changed.notify_all();
}

void Fetcher::report(const TagState& tag, const Error& error) {
  if (!options_.on_fetch_failure) return;
  const std::lock_guard lock(report_mutex_);
  options_.on_fetch_failure(tag.name, error);
}

}  // namespace leaf::segment
