#include "range/fetcher.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <system_error>

#include "store/no_signals.hpp"
#include "store/retry.hpp"
#include "text/hint.hpp"

namespace leaf::range {

using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds check_every{1};

/// There is nothing to bridge the time to the next attempt with.
bool is_used_up(const RangeSource& source) {
  return source.buffer().view().rest.empty();
}

/// Counts a caller while it waits; the mutex is held at both ends.
class Awaited {
 public:
  explicit Awaited(int& callers) : callers_(++callers) {}
  ~Awaited() { --callers_; }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

 private:
  int& callers_;
};

}  // namespace

milliseconds pause_after(int failures, bool retryable) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int longest = std::min(retryable ? 2'000 : 60'000, 100 << std::min(failures - 1, 10));
  return milliseconds(std::uniform_int_distribution<int>(longest * 3 / 4, longest)(random));
}

Fetcher::Fetcher(StoreOptions store, Options options)
    : store_options_(std::move(store)), options_(std::move(options)), clock_(*store_options_.clock) {
  Store checks_the_url(store_options_);
  if (options_.max_threads == 0) return;
  try {
    checks_the_url.load_driver();
  } catch (const Error&) {
    // A fetch tells, if it is still so.
  }
}

Fetcher::~Fetcher() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Fetcher::request(RangeSource& source) {
  // Either the thread that fetches sees what was drawn, or this one sees that the fetch has ended.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (source.fetch_.requested.load(std::memory_order_relaxed)) {
    // Not written again and again: each draw comes here while the store is away.
    if (!source.fetch_.requested_again.load(std::memory_order_relaxed))
      source.fetch_.requested_again.store(true);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (source.fetch_.requested.load(std::memory_order_relaxed)) return;
  }
  const Lock lock(mutex_);
  if (!source.wants_fetch() || source.fetch_.requested.exchange(true, std::memory_order_relaxed)) return;
  fetch_now(source, lock);
}

void Fetcher::enqueue(RangeSource& source, Time due, const Lock&) {
  if (source.fetch_.queued) queue_.erase({source.fetch_.due, &source});
  source.fetch_.queued = true;
  source.fetch_.due = due;
  queue_.emplace(due, &source);
  work_.notify_one();
}

bool Fetcher::fetch_now(RangeSource& source, const Lock& lock) {
  enqueue(source, clock_.steady_now(), lock);
  if (have_threads(lock)) return true;
  queue_.erase({source.fetch_.due, &source});
  source.fetch_.queued = false;
  source.fetch_.requested.store(false, std::memory_order_relaxed);
  return false;
}

bool Fetcher::have_threads(const Lock&) {
  const std::size_t to_ask = static_cast<std::size_t>(asking_) + queue_.size() + name_checks_.size();
  const std::size_t wanted =
      std::min(to_ask, static_cast<std::size_t>(options_.max_threads)) + (is_watching_ ? 1 : 0);
  if (threads_.size() >= wanted) return true;
  try {
    const store::NoSignals in_threads;
    while (threads_.size() < wanted) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    return !threads_.empty();
  }
  return true;
}

void Fetcher::watch(RangeSource& source) {
  const Lock lock(mutex_);
  checks_.emplace(clock_.steady_now() + check_every, &source);
  is_watching_ = true;
  have_threads(lock);
  work_.notify_one();
}

void Fetcher::await(RangeSource& source, const std::function<bool()>& ready) {
  Lock lock(mutex_);
  const Awaited awaited(source.fetch_.awaited);
  const bool tries_once = options_.timeout == milliseconds::zero();
  const Time deadline = clock_.steady_now() + store::allowed(options_.timeout);
  const std::uint64_t begun_before = source.fetch_.begun;
  while (!ready()) {
    if (source.fetch_.failure && (tries_once || !source.fetch_.failure->retryable())) {
      if (source.fetch_.ended > begun_before) throw Error(*source.fetch_.failure);
      // Somebody may have mended it since: every caller has it looked at anew.
      if (source.fetch_.queued) fetch_now(source, lock);
    }
    if (!source.fetch_.requested.exchange(true, std::memory_order_relaxed) && !fetch_now(source, lock)) {
      throw Error(ErrorCode::unavailable,
                  fmt::format("no thread could be started to fetch a {}", source.granter().what()),
                  "check the limit of processes, 'ulimit -u'"_hint);
    }
    if (clock_.steady_now() >= deadline)
      throw source.timed_out(store::allowed(options_.timeout), source.fetch_.failure,
                             "the store is slow; try again"_hint);
    clock_.wait_until(lock, source.fetch_.changed, deadline);
  }
}

Fetcher::Task Fetcher::next_due(Lock& lock) {
  while (!stopping_) {
    const Time now = clock_.steady_now();
    const bool may_ask = asking_ < options_.max_threads;
    if (may_ask && !queue_.empty() && queue_.begin()->first <= now) {
      RangeSource* const source = queue_.begin()->second;
      queue_.erase(queue_.begin());
      source->fetch_.queued = false;
      return {.source = source, .work = Work::fetch};
    }
    if (!checks_.empty() && checks_.begin()->first <= now) {
      RangeSource* const source = checks_.begin()->second;
      checks_.erase(checks_.begin());
      return {.source = source, .work = Work::check};
    }
    if (may_ask && !name_checks_.empty()) {
      RangeSource* const source = name_checks_.front();
      name_checks_.pop_front();
      return {.source = source, .work = Work::check_name};
    }
    const Time fetch_at = may_ask && !queue_.empty() ? queue_.begin()->first : Time::max();
    const Time check_at = checks_.empty() ? Time::max() : checks_.begin()->first;
    const Time next = std::min(fetch_at, check_at);
    if (next == Time::max()) {
      work_.wait(lock);
    } else {
      clock_.wait_until(lock, work_, next);
    }
  }
  return {};
}

void Fetcher::run() {
  Store store(store_options_);
  Lock lock(mutex_);
  for (Task task = next_due(lock); task.source != nullptr; task = next_due(lock)) {
    if (task.work == Work::check) {
      check(*task.source, lock);
      continue;
    }
    ++asking_;
    if (task.work == Work::fetch) {
      fetch(*task.source, store, lock);
    } else {
      check_name(*task.source, store, lock);
    }
    --asking_;
  }
}

void Fetcher::check(RangeSource& source, Lock& lock) {
  lock.unlock();
  bool asks = false;
  try {
    asks = source.check();
  } catch (const std::exception&) {
    // A folder is away: whoever needs a range is told.
  }
  lock.lock();
  if (asks && !stopping_) {  // no thread starts once the others are waited for
    name_checks_.push_back(&source);
    have_threads(lock);
  }
  checks_.emplace(clock_.steady_now() + check_every, &source);
  work_.notify_one();  // this thread may be at a question when it is due
}

void Fetcher::check_name(RangeSource& source, Store& store, Lock& lock) {
  lock.unlock();
  try {
    source.check_name(store);
  } catch (const std::exception&) {
    // The store is away, which is what the buffer is for.
  }
  lock.lock();
  source.fetch_.changed.notify_all();  // there may be something to draw where the name leads now
}

void Fetcher::fetch(RangeSource& source, Store& store, Lock& lock) {
  const std::uint64_t number = ++source.fetch_.begun;
  // Who waits may have no use for what is buffered.
  const bool is_awaited = source.fetch_.awaited > 0;
  std::optional<Error> failure;
  lock.unlock();
  try {
    if (is_awaited || source.wants_fetch()) source.fetch(store);
  } catch (const Error& error) {
    failure = error;
  } catch (const std::exception& error) {
    failure = Error(ErrorCode::failed, error.what());
  }
  if (failure && options_.on_failure) {
    const std::lock_guard report(report_mutex_);
    options_.on_failure(source, *failure);
  }
  lock.lock();

  source.fetch_.failure = failure;
  source.fetch_.ended = number;
  if (!failure) {
    source.fetch_.failures_in_a_row = 0;
    source.fetch_.requested.store(false, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // What it fetched may have been drawn from as far as to its mark before it was over.
    if (source.fetch_.requested_again.exchange(false) && source.buffer().view().mark_reached &&
        source.wants_fetch() && !source.fetch_.requested.exchange(true)) {
      enqueue(source, clock_.steady_now(), lock);  // this thread comes back to it at once
    }
  } else if (failure->retryable() || !is_used_up(source)) {
    ++source.fetch_.failures_in_a_row;
    const auto pause = pause_after(source.fetch_.failures_in_a_row, failure->retryable());
    // This thread, or another one that waits, comes back to it in time.
    enqueue(source, clock_.steady_now() + pause, lock);
  } else {
    // Nothing to bridge: whoever calls next asks anew.
    source.fetch_.requested.store(false, std::memory_order_relaxed);
  }
  source.fetch_.changed.notify_all();
}

}  // namespace leaf::range
