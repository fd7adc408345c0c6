// How ranges come into the files of SharedRanges: who may fetch, who waits for that, and what is done with a
// grant.

#include <algorithm>

#include "host/fetch_record.hpp"
#include "host/granted_record.hpp"
#include "host/shared_ranges.hpp"
#include "leaf/error.hpp"
#include "store/grant_marks.hpp"
#include "store/retry.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf::host {

using std::chrono::milliseconds;

/// Throws Error (unavailable) where what a call has waited for before took all its time.
SharedRanges::Time SharedRanges::deadline_of(range::CallDeadline& call) {
  const Time now = clock().steady_now();
  if (call && now >= *call) throw timed_out({});
  if (!call) call = now + timeout_;
  return *call;
}

void SharedRanges::await(const std::function<bool()>& ready, range::CallDeadline& of_call) {
  const Time deadline = deadline_of(of_call);
  milliseconds length{1};
  LockWait wait;
  std::optional<Error> failure;
  for (;;) {
    if (go_to_store(deadline, failure)) {
      if (ready() || try_to_fetch(deadline, ready, wait, failure)) return;
      is_there(failure, [this] { go_to_current_file(); });
      if (ready()) return;
    }
    if (clock().steady_now() >= deadline) throw timed_out(failure);
    pause(deadline, length);
  }
}

/// None if another holds the lock. One who has held it for long may have stopped for good, and loses the
/// file: but not what others can draw from it while only the store stands still.
std::optional<FetchLock> SharedRanges::lock(const std::shared_ptr<StateFile>& file, LockWait& wait) {
  if (auto lock = try_lock(*file)) {
    note_fetcher(file->state(), std::max(timeout_, store_options_.timeout), clock());
    return lock;
  }
  const Time now = clock().steady_now();
  const std::int64_t taken = file->state().locks_taken.load(std::memory_order_relaxed);
  if (wait.file != file || wait.locks_taken != taken) wait = {file, taken, now};
  const bool has_waited = now - wait.since >= timeout_ * 2 / 5;
  const bool serves_others = granter().is_timeless() && range::left_in(file->state().buffer) > 0;
  if (granter().may_take_over() && has_waited && !(serves_others && may_be_fetching(file->state(), clock())))
    file->take_from_holder(*folder_->get(), [&](std::int64_t end) { note_order(*file, end); });
  return std::nullopt;
}

std::optional<FetchLock> SharedRanges::try_lock(const StateFile& file) const {
  const auto folder = folder_->get();
  auto lock = file.try_lock(*folder);
  if (lock && file.shared_state()->buffer.published_end() == 0)
    file.finish_taking(*folder, [&](std::int64_t end) { note_order(file, end); });
  return lock;
}

void SharedRanges::note_order(const StateFile& file, std::int64_t end) const {
  const std::string mark = granter().order_mark();
  if (!mark.empty()) store_options_.marks->raise(file.identity().deployment, mark, end);
}

std::int64_t SharedRanges::order_end(const StateFile& file) const {
  const std::string mark = granter().order_mark();
  if (mark.empty()) return 0;
  // Whoever closed the buffer may have stopped before it noted that, or have died.
  const SharedState& state = *file.shared_state();
  const std::int64_t end = state.end_of_taken.load(std::memory_order_acquire);
  const std::int64_t known = store_options_.marks->highest(file.identity().deployment, mark);
  return end <= state.buffer.published_end() ? std::max(known, end) : known;  // else it is damaged
}

/// True if another process had done it, and `ready()` was true. Returns at once if one is at it. Throws Error
/// if waiting does not cure the failure.
bool SharedRanges::try_to_fetch(Time deadline, const std::function<bool()>& ready, LockWait& wait,
                                std::optional<Error>& failure) {
  std::shared_ptr<StateFile> file;
  if (!is_there(failure, [&] { file = current_file(); })) return false;
  if (!file || !(tries_once_ || may_try(file->state().fetch, clock()))) return false;
  const auto lock = this->lock(file, wait);
  if (!lock) return false;
  // Whoever had the lock may have put its first range into it.
  if (!is_there(failure, [this] { go_to_current_file(); })) return false;
  if (ready()) return true;
  const auto store_lock = lock_store(deadline);
  const Time begun = clock().steady_now();
  try {
    fetch_locked(*store_until(deadline), *file, *lock);
    failure.reset();
  } catch (const Error& error) {
    // Such as the last worker, which another process of this host was leased meanwhile.
    if (!error.retryable() && was_served(ready)) return true;
    keep_reason(failure, error, begun, deadline);
    note_failure(*file, *lock, *failure);
    if (tries_once_ || !error.retryable()) throw;
  }
  return false;
}

/// Whether another process has fetched what this one was refused.
bool SharedRanges::was_served(const std::function<bool()>& ready) {
  try {
    go_to_current_file();
    return ready();
  } catch (const Error&) {
    return false;
  }
}

/// Such as that a file which is damaged has its lock held still.
bool SharedRanges::is_there(std::optional<Error>& failure, const std::function<void()>& look) const {
  try {
    look();
    return true;
  } catch (const Error& error) {
    if (tries_once_ || !error.retryable()) throw;
    failure = error;
    return false;
  }
}

void SharedRanges::keep_reason(std::optional<Error>& reason, const Error& error, Time begun, Time deadline) {
  if (!reason || !store::was_cut_short(error, begun, deadline, clock().steady_now())) reason = error;
}

void SharedRanges::fetch() {
  const Time deadline = clock().steady_now() + timeout_;
  find_store(deadline);
  const auto store_lock = lock_store(deadline);
  fetch(*store_until(deadline), /*is_awaited=*/false);
}

/// Those who wait fetch for themselves.
void SharedRanges::fetch(Store& store, bool /*is_awaited*/) {
  const auto file = current_file();
  if (!file) return;
  LockWait no_wait;
  const auto lock = this->lock(file, no_wait);
  if (!lock || !file->state().buffer.wants_next()) return;
  try {
    fetch_locked(store, *file, *lock);
  } catch (const Error& error) {
    note_failure(*file, *lock, error);
    throw;
  }
  go_to_current_file();
}

void SharedRanges::alone(range::CallDeadline& of_call, const std::function<bool(Store&, StateFile&)>& work) {
  const Time deadline = deadline_of(of_call);
  milliseconds length{1};
  LockWait wait;
  std::optional<Error> failure;
  for (;;) {
    const auto file = go_to_store(deadline, failure);
    if (const auto lock = file ? this->lock(file, wait) : std::nullopt) {
      const auto store_lock = lock_store(deadline);
      try {
        if (work(*store_until(deadline), *file)) return;
      } catch (const Error& error) {
        if (error.code() == ErrorCode::refused) note_failure(*file, *lock, error);
        throw;
      }
    }
    if (clock().steady_now() >= deadline) throw timed_out(failure);
    pause(deadline, length);
  }
}

void SharedRanges::fetch_locked(Store& store, StateFile& file, const FetchLock& lock, bool may_ask_again) {
  SharedState& state = file.state();
  const std::uint32_t turn = state.buffer.next_turn();
  if (!file.is_current(*folder_->get())) return;  // it was taken away, and this turn comes after that
  const auto question = ask(store);
  const range::Granted granted =
      grant(store, {state.buffer, file.identity(), state.origin.get(), record_of(state), order_end(file)});
  const bool is_of_store = !leads_elsewhere(granted.store, file, question);
  const bool is_of_origin = state.origin.empty() || state.origin.get() == granted.origin;
  if (is_of_store && is_of_origin &&
      granter().still_serves(state.buffer, granted.origin, std::min(granted.asked, now())))
    return;
  if (is_of_store && is_of_origin) {
    // Where it was taken away, higher IDs may have been drawn since, from a file that has gone as well: then
    // this grant is lost.
    if (file.is_current(*folder_->get())) put_in_place(state, granted, turn);
    return;
  }
  if (is_of_store) {
    // What is left is lower than what others have been granted since.
    state.buffer.close();
    if (!file.throw_away(*folder_->get(), lock)) return;
  }
  const auto another = current_file(granted.store);
  const auto its_lock = try_lock(*another);
  if (!its_lock) return;
  SharedState& its_state = another->state();
  if (!its_state.buffer.wants_next()) return;  // this one would take the place of both that are there
  const std::uint32_t its_turn = its_state.buffer.next_turn();
  // Here it comes late: others may have had more since, or have been told that it is given up. From now on
  // whoever tells them finds this file.
  if (!granter().is_newest(store, granted)) {
    if (may_ask_again) fetch_locked(store, *another, *its_lock, /*may_ask_again=*/false);
    return;
  }
  if (std::max(its_state.buffer.published_end(), order_end(*another)) > granted.range.lo) return;
  if (!its_state.origin.empty() && its_state.origin.get() != granted.origin) return;
  if (another->is_current(*folder_->get())) put_in_place(its_state, granted, its_turn);
}

void SharedRanges::put_in_place(SharedState& state, const range::Granted& granted, std::uint32_t turn) {
  if (state.origin.empty()) state.origin.set(granted.origin);
  state.origin_checksum.store(checksum_of_origin(granted.origin), std::memory_order_relaxed);
  const bool has_recovered = note_success(state, granted.range.size(), clock());
  keep_record(state, granted.record);
  state.buffer.publish(granted.range, granted.mark, granted.label, turn);
  if (has_recovered) tell({}, {});
}

void SharedRanges::tell(const std::string& failure, const Advice& advice) const {
  if (on_fetch_change_)
    on_fetch_change_({.what = granter().what(),
                      .store = name_.shown(),
                      .failure = failure,
                      .hint = advice.hint,
                      .remedies = advice.remedies});
}

void SharedRanges::note_failure(StateFile& file, const FetchLock& lock, const Error& error) {
  SharedState& state = file.state();
  const bool is_mistaken = error.code() == ErrorCode::usage && state.origin.empty();
  const bool is_gone = error.code() == ErrorCode::not_found && range::left_in(state.buffer) == 0;
  if (is_mistaken || is_gone) {
    file.throw_away(*folder_->get(), lock);  // nothing is there to share
    return;
  }
  if (host::note_failure(state, error, clock())) tell(error.what(), error.advice());
}

std::unique_lock<ForkMutex> SharedRanges::lock_store(Time deadline) {
  if (!store_mutex_.lock_unless([&] { return clock().steady_now() >= deadline; })) {
    throw Error(ErrorCode::unavailable, "other threads of this program are still waiting for the store",
                advice("try again, or allow more time{}"_hint, Remedy{Remedy::Kind::allow_more_time}));
  }
  return {store_mutex_, std::adopt_lock};
}

StorePool::Borrowed SharedRanges::store_until(Time deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - clock().steady_now());
  return stores_->borrow(tries_once_ ? milliseconds::zero() : std::max(left, milliseconds(1)), deadline);
}

void SharedRanges::pause(Time deadline, milliseconds& length) {
  constexpr milliseconds longest{20};
  const auto left = deadline - clock().steady_now();
  clock().sleep_for(std::min<std::chrono::nanoseconds>(length, left));
  length = std::min(length * 2, longest);
}

Error SharedRanges::timed_out(const std::optional<Error>& failure) {
  const auto file = current_file();
  const auto last = file ? last_failure(file->state()) : failure;
  return RangeSource::timed_out(timeout_, last ? &*last : nullptr,
                                who_fetches(file ? file->state() : nowhere_));
}

}  // namespace leaf::host
