#include "host/shared_ranges.hpp"

#include <algorithm>
#include <utility>

#include "host/fetch_record.hpp"
#include "host/granted_record.hpp"
#include "host/host_marks.hpp"
#include "leaf/error.hpp"
#include "store/retry.hpp"

namespace leaf::host {

using std::chrono::milliseconds;

namespace {

/// How long a call that the buffer could serve may take to ask where the store's name leads to.
constexpr milliseconds check_patience{250};

}  // namespace

SharedRanges::SharedRanges(std::unique_ptr<const range::Granter> granter, FileKind kind,
                           const std::string& key, const StoreOptions& store, const HostOptions& host,
                           milliseconds timeout, range::Fetcher* fetcher, std::shared_ptr<StorePool> stores)
    : RangeSource(std::move(granter)),
      store_options_(to_keep(store, host)),
      tries_once_(timeout == milliseconds::zero()),
      timeout_(store::allowed(timeout)),
      key_{.kind = kind, .name = this->granter().name(), .key = key},
      name_(store.url, host),
      on_fetch_change_(host.on_fetch_change),
      fetcher_(fetcher),
      folder_(host),
      stores_(stores ? std::move(stores) : std::make_shared<StorePool>(store_options_, 1)) {
  draw_from(nowhere_.buffer);
  const auto known = name_.look_up(*folder_.get(), now());
  if (!known) return;
  go_to(known->store);
  try {
    go_to_current_file();
  } catch (const Error& error) {
    if (!error.retryable()) throw;
    return;  // whoever draws waits until it can be gone to
  }
  if (tries_once_ || !known->check_is_due || !name_.claim_check(*folder_.get(), now())) return;
  try {
    const std::lock_guard store_lock(store_mutex_);
    check_name(*store_until(clock().steady_now() + std::min(timeout_, check_patience)));
  } catch (const Error&) {
    // The store is away, which is what the buffer is for.
  }
}

range::GrantRecord SharedRanges::record() const {
  const SharedState& drawn_from = state();
  return drawn_from.buffer.published_end() == 0 ? range::GrantRecord() : record_of(drawn_from);
}

StoreIdentity SharedRanges::granted_by() const {
  const SharedState& drawn_from = state();
  if (&drawn_from != &nowhere_) return identity_of(drawn_from.header);
  const std::lock_guard lock(files_mutex_);
  return identity_.value_or(StoreIdentity());
}

void SharedRanges::keep_record(SharedState& state, const range::GrantRecord& record) {
  keep(record, state);
}

void SharedRanges::request_fetch() {
  if (fetcher_ != nullptr && claim_fetch()) fetcher_->request(*this);
}

bool SharedRanges::is_known() {
  bool is_shut_out = false;
  {
    const std::lock_guard lock(files_mutex_);
    if (identity_) return true;
    is_shut_out = is_shut_out_;
  }
  const auto known = name_.look_up(*folder_.get(), now());
  if (!known || (is_shut_out && known->check_is_due)) return false;
  go_to(known->store);
  return true;
}

void SharedRanges::go_to(const StoreIdentity& store) {
  const std::lock_guard lock(files_mutex_);
  if (identity_ == store) return;
  identity_ = store;
}

std::shared_ptr<StateFile> SharedRanges::current_file(const std::optional<StoreIdentity>& of) {
  const auto folder = folder_.get();
  const std::lock_guard lock(files_mutex_);
  return current_file(*folder, of ? of : identity_);
}

std::shared_ptr<StateFile> SharedRanges::current_file(const Folder& folder,
                                                      const std::optional<StoreIdentity>& of) {
  if (!of) return nullptr;
  if (!file_ || file_->identity() != *of || !file_->is_current(folder) || !file_->is_intact()) {
    FileKey key = key_;
    key.shown_store = name_.shown_for(*of);
    key.identity = *of;
    file_ = StateFile::open(folder, key);
  }
  return file_;
}

/// Found and gone to in one go: another thread may have learned meanwhile that the name leads elsewhere.
void SharedRanges::go_to_current_file() {
  const auto folder = folder_.get();
  const std::lock_guard lock(files_mutex_);
  try {
    const auto current = current_file(*folder, identity_);
    go_to(current && current->state().buffer.published_end() != 0 ? current->shared_state() : nullptr);
  } catch (...) {
    if (drawn_store_ && identity_ && *drawn_store_ != *identity_) {
      leave_store();
      is_shut_out_ = true;
    }
    throw;
  }
}

/// Where the name leads now is not known, or cannot be gone to: whoever draws next finds out, or is told why.
void SharedRanges::leave_store() {
  identity_.reset();
  go_to(nullptr);
}

void SharedRanges::go_to(const std::shared_ptr<SharedState>& next) {
  SharedState& to = next ? *next : nowhere_;
  if (&to == &state()) return;
  if (next) {
    const std::string origin = next->origin.get();
    if (!origin_.empty()) granter().require_alike(origin_, origin);
    origin_ = origin;
    is_shut_out_ = false;
    if (std::ranges::find(drawn_from_, next) == drawn_from_.end()) drawn_from_.push_back(next);
  }
  // Who has drawn nothing yet has nothing of another one.
  std::optional<range::StoreChanges::Change> of_buffer, of_store;
  if (&state() != &nowhere_) of_buffer.emplace(buffer_changes_);
  // Also where it has no buffer yet: calls for many are granted theirs beside it.
  const StoreIdentity store = next ? identity_of(next->header) : identity_.value_or(StoreIdentity());
  if (drawn_store_ && *drawn_store_ != store) of_store.emplace(store_changes_);
  if (next || drawn_store_) drawn_store_ = store;
  state_.store(&to, std::memory_order_release);
  draw_from(to.buffer);
}

void SharedRanges::find_store(Time deadline) {
  if (is_known()) return;
  const auto is_late = [&] { return !tries_once_ && clock().steady_now() >= deadline; };
  if (!store_mutex_.lock_unless(is_late)) {
    throw Error(ErrorCode::unavailable, "the store has not answered other threads of this program", "");
  }
  const std::lock_guard store_lock(store_mutex_, std::adopt_lock);
  const StorePool::Borrowed borrowed = store_until(deadline);
  Store& asked = *borrowed;
  const auto question = ask(asked);
  note(granter().identify(asked), question);
}

/// What follows is not drawn from the buffer of a store before. False if waiting may cure the `failure`.
bool SharedRanges::go_to_store(Time deadline, std::optional<Error>& failure) {
  try {
    find_store(deadline);
    go_to_current_file();
    return true;
  } catch (const Error& error) {
    if (tries_once_ || !error.retryable()) throw;
    failure = error;
    return false;
  }
}

void SharedRanges::note(const StoreIdentity& store, const StoreName::Question& question) {
  const auto folder = folder_.get();
  if (name_.note(*folder, store, question, now())) return go_to(store);
  const auto known = name_.look_up(*folder, now());
  go_to(known ? known->store : store);
}

bool SharedRanges::leads_elsewhere(const StoreIdentity& store, const StateFile& file,
                                   const StoreName::Question& question) {
  note(store, question);
  return file.identity() != store;
}

void SharedRanges::check_name(Store& store) {
  const auto question = ask(store);
  note(granter().identify(store), question);
  go_to_current_file();
}

bool SharedRanges::check() {
  buffer().note();
  go_to_current_file();
  const range::DoubleBuffer& drawn_from = buffer();
  const std::pair now_at(&drawn_from, drawn_from.view().word);  // two stores' words may be alike
  if (std::exchange(checked_at_, now_at) == now_at || !is_known()) return false;
  const auto folder = folder_.get();
  const auto known = name_.look_up(*folder, now());
  if (known) {
    go_to(known->store);
    go_to_current_file();
  } else {
    const std::lock_guard lock(files_mutex_);
    if (identity_ && name_.visibly_leads_elsewhere(*folder, *identity_)) leave_store();
  }
  return (!known || known->check_is_due) && name_.claim_check(*folder_.get(), now());
}

SharedState& SharedRanges::known_state() {
  try {
    if (&state() == &nowhere_ && is_known()) go_to_current_file();
  } catch (const Error&) {
    // Whoever waits for a range is told.
  }
  return state();
}

bool SharedRanges::is_fetch_due() {
  return host::is_fetch_due(known_state(), clock());
}

bool SharedRanges::claim_fetch() {
  return host::claim_fetch(known_state(), clock());
}

bool SharedRanges::is_check_due() {
  const auto known = name_.look_up(*folder_.get(), now());
  return !known || known->check_is_due;
}

void SharedRanges::await(const std::function<bool()>& ready) {
  const Time deadline = clock().steady_now() + timeout_;
  milliseconds length{1};
  LockWait wait;
  std::optional<Error> failure;
  for (;;) {
    if (go_to_store(deadline, failure)) {
      if (ready() || try_to_fetch(deadline, ready, wait)) return;
      go_to_current_file();
      if (ready()) return;
    }
    if (clock().steady_now() >= deadline) throw timed_out(failure);
    pause(deadline, length);
  }
}

/// None if another holds the lock; one who has held it for long may have stopped for good, and loses the
/// file.
std::optional<FetchLock> SharedRanges::lock(const std::shared_ptr<StateFile>& file, LockWait& wait) {
  const auto folder = folder_.get();
  if (auto lock = file->try_lock(*folder)) {
    note_fetcher(file->state());
    return lock;
  }
  const Time now = clock().steady_now();
  const std::int64_t taken = file->state().locks_taken.load(std::memory_order_relaxed);
  if (wait.file != file || wait.locks_taken != taken) wait = {file, taken, now};
  if (granter().may_take_over() && now - wait.since >= timeout_ * 2 / 5)
    file->take_from_holder(*folder, [&](std::int64_t end) { note_order(*file, end); });
  return std::nullopt;
}

void SharedRanges::note_order(const StateFile& file, std::int64_t end) const {
  const std::string mark = granter().order_mark();
  if (!mark.empty()) store_options_.marks->raise(file.identity().deployment, mark, end);
}

std::int64_t SharedRanges::order_end(const StateFile& file) const {
  const std::string mark = granter().order_mark();
  return mark.empty() ? 0 : store_options_.marks->highest(file.identity().deployment, mark);
}

/// True if another process had done it, and `ready()` was true. Returns at once if one is at it. Throws Error
/// if waiting does not cure the failure.
bool SharedRanges::try_to_fetch(Time deadline, const std::function<bool()>& ready, LockWait& wait) {
  const auto file = current_file();
  if (!file || !(tries_once_ || may_try(file->state().fetch, clock()))) return false;
  const auto lock = this->lock(file, wait);
  if (!lock) return false;
  go_to_current_file();  // whoever had the lock may have put its first range into it
  if (ready()) return true;
  const std::lock_guard store_lock(store_mutex_);
  try {
    fetch_locked(*store_until(deadline), *file, *lock);
  } catch (const Error& error) {
    note_failure(*file, *lock, error);
    if (tries_once_ || !error.retryable()) throw;
  }
  return false;
}

void SharedRanges::fetch() {
  const Time deadline = clock().steady_now() + timeout_;
  find_store(deadline);
  const std::lock_guard store_lock(store_mutex_);
  fetch(*store_until(deadline));
}

void SharedRanges::fetch(Store& store) {
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

void SharedRanges::alone(const std::function<bool(Store&, StateFile&)>& work) {
  const Time deadline = clock().steady_now() + timeout_;
  milliseconds length{1};
  LockWait wait;
  std::optional<Error> failure;
  for (;;) {
    const auto file = go_to_store(deadline, failure) ? current_file() : nullptr;
    if (const auto lock = file ? this->lock(file, wait) : std::nullopt) {
      const std::lock_guard store_lock(store_mutex_);
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
  if (!file.is_current(*folder_.get())) return;  // it was taken away, and this turn comes after that
  const auto question = ask(store);
  const range::Granted granted = granter().grant(
      store, {state.buffer, file.identity(), state.origin.get(), record_of(state), order_end(file)});
  const bool is_of_store = !leads_elsewhere(granted.store, file, question);
  const bool is_of_origin = state.origin.empty() || state.origin.get() == granted.origin;
  if (is_of_store && is_of_origin) {
    // Where it was taken away, higher IDs may have been drawn since, from a file that has gone as well: then
    // this grant is lost.
    if (file.is_current(*folder_.get())) put_in_place(state, granted, turn);
    return;
  }
  if (is_of_store) {
    // What is left is lower than what others have been granted since.
    state.buffer.close();
    if (!file.throw_away(*folder_.get(), lock)) return;
  }
  const auto another = current_file(granted.store);
  const auto its_lock = another->try_lock(*folder_.get());
  if (!its_lock) return;
  SharedState& its_state = another->state();
  const std::uint32_t its_turn = its_state.buffer.next_turn();
  // Here it comes late: others may have had more since, or have been told that it is given up. From now on
  // whoever tells them finds this file.
  if (!granter().is_newest(store, granted)) {
    if (may_ask_again && its_state.buffer.wants_next())
      fetch_locked(store, *another, *its_lock, /*may_ask_again=*/false);
    return;
  }
  if (std::max(its_state.buffer.published_end(), order_end(*another)) > granted.range.lo) return;
  if (!its_state.origin.empty() && its_state.origin.get() != granted.origin) return;
  if (another->is_current(*folder_.get())) put_in_place(its_state, granted, its_turn);
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
    file.throw_away(*folder_.get(), lock);  // nothing is there to share
    return;
  }
  if (host::note_failure(state, error, clock())) tell(error.what(), error.advice());
}

StorePool::Borrowed SharedRanges::store_until(Time deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - clock().steady_now());
  return stores_->borrow(tries_once_ ? milliseconds::zero() : std::max(left, milliseconds(1)));
}

void SharedRanges::pause(Time deadline, milliseconds& length) {
  constexpr milliseconds longest{20};
  const auto left = deadline - clock().steady_now();
  clock().sleep_for(std::min<std::chrono::nanoseconds>(length, left));
  length = std::min(length * 2, longest);
}

Error SharedRanges::timed_out(const std::optional<Error>& failure) {
  const auto file = current_file();
  return RangeSource::timed_out(timeout_, file ? last_failure(file->state()) : failure,
                                who_fetches(file ? file->state() : nowhere_));
}

}  // namespace leaf::host
