#include "range/fetcher.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <new>
#include <random>
#include <utility>

#include "store/no_signals.hpp"
#include "store/retry.hpp"
#include "text/hint.hpp"
#include "text/shortage.hpp"

namespace leaf::range {

using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds check_every{1};

/// There is nothing to bridge the time to the next attempt with.
bool is_used_up(const RangeSource& source) {
  return source.buffer().view().rest.empty();
}

struct Outcome {
  bool has_failed = true;
  std::unique_ptr<const Error> failure;  ///< null too if there was no memory to say why
};

template <class Work>
Outcome outcome_of(Work work) noexcept {
  Outcome outcome;
  try {
    try {
      work();
      outcome.has_failed = false;
    } catch (const Error& error) {
      outcome.failure = std::make_unique<Error>(error);
    } catch (const std::bad_alloc&) {
      outcome.failure =
          std::make_unique<Error>(ErrorCode::unavailable, "out of memory", shortage_hint(ENOMEM));
    } catch (const std::exception& error) {
      outcome.failure = std::make_unique<Error>(ErrorCode::failed, error.what());
    }
  } catch (const std::bad_alloc&) {
    // It has failed, and nobody learns why.
  }
  return outcome;
}

/// A thread's own store, made when it is first needed.
Store& made(std::optional<Store>& store, const StoreOptions& options) {
  return store ? *store : store.emplace(options);
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

milliseconds longest_pause(bool retryable) {
  return retryable ? milliseconds(2'000) : milliseconds(60'000);
}

milliseconds pause_after(int failures, bool retryable) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int longest =
      std::min(static_cast<int>(longest_pause(retryable).count()), 100 << std::min(failures - 1, 10));
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
  source.fetch_.queued = false;
  queue_.emplace(due, &source);
  source.fetch_.queued = true;
  source.fetch_.due = due;
  work_.notify_one();
}

void Fetcher::put_back(Task task, Time due, const Lock&) {
  task.place.value().first = due;
  if (task.work == Work::check) {
    checks_.insert(std::move(task.place));
  } else {
    task.source->fetch_.queued = true;
    task.source->fetch_.due = due;
    queue_.insert(std::move(task.place));
  }
  work_.notify_one();
}

bool Fetcher::fetch_now(RangeSource& source, const Lock& lock) {
  try {
    enqueue(source, clock_.steady_now(), lock);
  } catch (const std::bad_alloc&) {
    source.fetch_.requested.store(false, std::memory_order_relaxed);
    throw;
  }
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
  } catch (const std::exception&) {  // too many threads, or no memory
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

void Fetcher::await(RangeSource& source, const std::function<bool()>& ready, CallDeadline& of_call) {
  Lock lock(mutex_);
  const Awaited awaited(source.fetch_.awaited);
  const bool tries_once = options_.timeout == milliseconds::zero();
  const Time now = clock_.steady_now();
  if (!of_call) of_call = now + store::allowed(options_.timeout);
  const Time deadline = *of_call;
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
      throw source.timed_out(store::allowed(options_.timeout), source.fetch_.failure.get(),
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
      source->fetch_.queued = false;
      return {.source = source, .work = Work::fetch, .place = queue_.extract(queue_.begin())};
    }
    if (!checks_.empty() && checks_.begin()->first <= now) {
      RangeSource* const source = checks_.begin()->second;
      return {.source = source, .work = Work::check, .place = checks_.extract(checks_.begin())};
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

void Fetcher::run() noexcept {
  std::optional<Store> store;
  Lock lock(mutex_);
  for (Task task = next_due(lock); task.source != nullptr; task = next_due(lock)) {
    if (task.work == Work::check) {
      check(std::move(task), lock);
      continue;
    }
    ++asking_;
    if (task.work == Work::fetch) {
      fetch(std::move(task), store, lock);
    } else {
      check_name(*task.source, store, lock);
    }
    --asking_;
  }
}

void Fetcher::check(Task task, Lock& lock) {
  RangeSource& source = *task.source;
  bool asks = false;
  lock.unlock();
  // A folder may be away: whoever needs a range is told.
  const Outcome ignored = outcome_of([&] { asks = source.check(); });
  lock.lock();
  if (asks && !stopping_) {  // no thread starts once the others are waited for
    // Without memory it is looked at again with the next check that asks.
    const Outcome also_ignored = outcome_of([&] {
      name_checks_.push_back(&source);
      have_threads(lock);
    });
  }
  // To whichever thread: this one may be at a question by then.
  put_back(std::move(task), clock_.steady_now() + check_every, lock);
}

void Fetcher::check_name(RangeSource& source, std::optional<Store>& store, Lock& lock) {
  lock.unlock();
  // The store may be away, which is what the buffer is for.
  const Outcome ignored = outcome_of([&] { source.check_name(made(store, store_options_)); });
  lock.lock();
  source.fetch_.changed.notify_all();  // there may be something to draw where the name leads now
}

void Fetcher::fetch(Task task, std::optional<Store>& store, Lock& lock) {
  RangeSource& source = *task.source;
  const std::uint64_t number = ++source.fetch_.begun;
  // Who waits may have no use for what is buffered.
  const bool is_awaited = source.fetch_.awaited > 0;
  lock.unlock();
  Outcome outcome = outcome_of([&] {
    if (is_awaited || source.wants_fetch()) source.fetch(made(store, store_options_), is_awaited);
  });
  if (outcome.failure && options_.on_failure) {
    const std::lock_guard report(report_mutex_);
    const Outcome ignored = outcome_of([&] { options_.on_failure(source, *outcome.failure); });
  }
  lock.lock();

  source.fetch_.failure = std::move(outcome.failure);
  source.fetch_.ended = number;
  const Error* const failure = source.fetch_.failure.get();
  const bool may_be_cured = failure == nullptr || failure->retryable();
  if (!outcome.has_failed) {
    source.fetch_.failures_in_a_row = 0;
    source.fetch_.requested.store(false, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // What it fetched may have been drawn from as far as to its mark before it was over.
    if (source.fetch_.requested_again.exchange(false) && source.buffer().view().mark_reached &&
        source.wants_fetch() && !source.fetch_.requested.exchange(true)) {
      put_back(std::move(task), clock_.steady_now(), lock);  // this thread comes back to it at once
    }
  } else if (may_be_cured || !is_used_up(source)) {
    ++source.fetch_.failures_in_a_row;
    const auto pause = pause_after(source.fetch_.failures_in_a_row, may_be_cured);
    // This thread, or another one that waits, comes back to it in time.
    put_back(std::move(task), clock_.steady_now() + pause, lock);
  } else {
    // Nothing to bridge: whoever calls next asks anew.
    source.fetch_.requested.store(false, std::memory_order_relaxed);
  }
  source.fetch_.changed.notify_all();
}

}  // namespace leaf::range
