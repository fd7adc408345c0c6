#include "host/shared_buffer.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "duration_text.hpp"
#include "leaf/error.hpp"
#include "store/retry.hpp"

namespace leaf::host {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds claim_lasts{1000};
/// No pause is longer. A time further ahead was written before the clock was set back.
constexpr milliseconds longest_pause{60'000};

bool is_ahead(std::int64_t time_ms, std::int64_t now_ms, milliseconds at_most) {
  return time_ms > now_ms && time_ms - now_ms <= at_most.count();
}

HostOptions with_absolute_folder(HostOptions options) {
  if (options.folder.empty()) throw Error(ErrorCode::usage, "no folder is named for the host's buffer");
  if (!options.folder.starts_with('/')) options.folder = std::filesystem::absolute(options.folder).string();
  while (options.folder.ends_with('/') && options.folder.size() > 1) options.folder.pop_back();
  return options;
}

Subject subject_of(const StoreIdentity& store, HostBuffer::Kind kind, const std::string& name,
                   const std::string& key) {
  return {.kind = kind, .name = name, .key = key, .store = store.shown, .store_key = store.key};
}

}  // namespace

SharedBuffer::SharedBuffer(const StoreOptions& store, const HostOptions& host, HostBuffer::Kind kind,
                           const std::string& name, const std::string& key, milliseconds timeout)
    : store_options_(store),
      tries_once_(timeout == milliseconds::zero()),
      timeout_(store::allowed(timeout)),
      identity_(identify_store(store.url, host.store_key)),
      subject_(subject_of(identity_, kind, name, key)),
      folder_(Folder::open(with_absolute_folder(host))) {
  files_.push_back(StateFile::open(folder_, subject_));
  state_.store(&files_.back()->state(), std::memory_order_release);
  drop_what_another_store_granted();
}

SharedBuffer::~SharedBuffer() {
  if (store_process_ != getpid()) static_cast<void>(store_.release());
}

/// Where the store's file was replaced, what was buffered of it may be in use twice: a copy that was put back
/// grants it again.
void SharedBuffer::drop_what_another_store_granted() {
  const auto is_of_this_store = [this](State& state) {
    return state.deployment.empty() || state.store_stamp.load(std::memory_order_relaxed) == identity_.stamp;
  };
  if (is_of_this_store(state())) return;
  alone([&](Store&, State& state) {
    if (is_of_this_store(state)) return;
    state.buffer.drain();
    state.store_stamp.store(identity_.stamp, std::memory_order_relaxed);
  });
}

std::int64_t SharedBuffer::now_ms() const {
  return std::chrono::floor<milliseconds>(clock().now()).time_since_epoch().count();
}

std::shared_ptr<StateFile> SharedBuffer::file() {
  const std::lock_guard lock(files_mutex_);
  return files_.back();
}

std::shared_ptr<StateFile> SharedBuffer::current_file() {
  const std::lock_guard lock(files_mutex_);
  if (!files_.back()->is_current(folder_)) {
    files_.push_back(StateFile::open(folder_, subject_));
  }
  return files_.back();
}

void SharedBuffer::go_to_current_file() {
  State& current = current_file()->state();
  if (&current == &state() || current.buffer.published_end() == 0) return;
  require_fitting(current);
  state_.store(&current, std::memory_order_release);
}

/// False while all wait for the end of a pause. A failure that waiting does not cure is looked at anew by
/// whoever needs the range: somebody may have mended it.
bool SharedBuffer::may_try() {
  const FetchRecord& record = file()->state().fetch;
  if (record.failures.load(std::memory_order_relaxed) == 0) return true;
  const auto code = static_cast<ErrorCode>(record.failure_code.load(std::memory_order_relaxed));
  return code != ErrorCode::unavailable ||
         !is_ahead(record.retry_at_ms.load(std::memory_order_relaxed), now_ms(), longest_pause);
}

bool SharedBuffer::claim_fetch() {
  const auto view = buffer().view();
  if (view.has_next || !(view.mark_reached || view.rest.empty())) return false;
  FetchRecord& record = state().fetch;
  const std::int64_t now = now_ms();
  if (record.failures.load(std::memory_order_relaxed) > 0 &&
      is_ahead(record.retry_at_ms.load(std::memory_order_relaxed), now, longest_pause))
    return false;
  std::int64_t claimed = record.claimed_until_ms.load(std::memory_order_relaxed);
  if (is_ahead(claimed, now, claim_lasts)) return false;
  return record.claimed_until_ms.compare_exchange_strong(claimed, now + claim_lasts.count(),
                                                         std::memory_order_relaxed);
}

void SharedBuffer::await(const std::function<bool()>& ready) {
  const Time deadline = clock().steady_now() + timeout_;
  milliseconds length{1};
  for (;;) {
    go_to_current_file();
    if (ready()) return;
    if (tries_once_ || may_try()) try_to_fetch(deadline, ready);
    go_to_current_file();
    if (ready()) return;
    if (clock().steady_now() >= deadline) throw timed_out();
    pause(deadline, length);
  }
}

/// Returns at once if another process is at it. Throws Error if waiting does not cure the failure.
void SharedBuffer::try_to_fetch(Time deadline, const std::function<bool()>& is_done) {
  const auto file = this->file();
  const auto lock = file->try_lock(folder_);
  if (!lock || is_done()) return;
  const std::lock_guard store_lock(store_mutex_);
  try {
    fetch_locked(store_until(deadline), *file, *lock);
  } catch (const Error& error) {
    note_failure(*file, *lock, error);
    if (tries_once_ || !error.retryable()) throw;
  }
}

void SharedBuffer::fetch() {
  const std::lock_guard store_lock(store_mutex_);
  fetch(store_until(clock().steady_now() + timeout_));
}

void SharedBuffer::fetch(Store& store) {
  const auto file = current_file();
  const auto lock = file->try_lock(folder_);
  if (!lock || !file->state().buffer.wants_next()) return;
  try {
    fetch_locked(store, *file, *lock);
  } catch (const Error& error) {
    note_failure(*file, *lock, error);
    throw;
  }
}

void SharedBuffer::alone(const std::function<void(Store&, State&)>& work) {
  const Time deadline = clock().steady_now() + timeout_;
  milliseconds length{1};
  for (;;) {
    const auto file = current_file();
    if (const auto lock = file->try_lock(folder_)) {
      const std::lock_guard store_lock(store_mutex_);
      try {
        work(store_until(deadline), file->state());
      } catch (const Error& error) {
        if (error.code() == ErrorCode::refused) note_failure(*file, *lock, error);
        throw;
      }
      return;
    }
    if (clock().steady_now() >= deadline) throw timed_out();
    pause(deadline, length);
  }
}

void SharedBuffer::fetch_locked(Store& store, StateFile& file, const FetchLock& lock) {
  State& state = file.state();
  const GrantedRange granted = grant(store, state);
  const bool is_of_same = state.deployment.empty() || (state.deployment.get() == granted.deployment &&
                                                       state.origin.get() == granted.origin);
  if (is_of_same) {
    require_higher(state, granted.refill.range);
    put_in_place(state, granted);
    return;
  }
  // The file is left to those who still draw from it; whoever comes next finds another one.
  file.throw_away(folder_, lock);
  const auto another = current_file();
  const auto its_lock = another->try_lock(folder_);
  // Somebody may have been faster: then this grant is lost.
  if (!its_lock || !another->state().deployment.empty()) return;
  require_higher(another->state(), granted.refill.range);
  put_in_place(another->state(), granted);
}

bool SharedBuffer::was_refused(const State& state) {
  return state.fetch.failures.load(std::memory_order_relaxed) > 0 &&
         state.fetch.failure_code.load(std::memory_order_relaxed) == static_cast<int>(ErrorCode::refused);
}

void SharedBuffer::require_higher(const State& state, Range range) const {
  const std::int64_t highest =
      std::max(state.fetch.highest.load(std::memory_order_relaxed), state.buffer.published_end());
  if (range.lo < highest) throw went_back(highest);
}

void SharedBuffer::put_in_place(State& state, const GrantedRange& granted) {
  if (state.deployment.empty()) {
    state.store_stamp.store(identity_.stamp, std::memory_order_relaxed);
    state.origin.set(granted.origin);
    state.deployment.set(granted.deployment);
  }
  FetchRecord& record = state.fetch;
  record.fetched_before_ms.store(record.fetched_at_ms.load(std::memory_order_relaxed),
                                 std::memory_order_relaxed);
  record.fetched_at_ms.store(now_ms(), std::memory_order_relaxed);
  record.failures.store(0, std::memory_order_relaxed);
  record.claimed_until_ms.store(0, std::memory_order_relaxed);
  note_granted(state);
  if (!state.buffer.wants_next()) state.buffer.retire();  // await() found that neither range will do
  state.buffer.publish(granted.refill.range, granted.refill.mark, granted.refill.label);
}

void SharedBuffer::note_failure(StateFile& file, const FetchLock& lock, const Error& error) {
  State& state = file.state();
  const bool is_mistaken = error.code() == ErrorCode::usage && state.deployment.empty();
  const bool is_gone = error.code() == ErrorCode::not_found && state.buffer.view().rest.empty();
  if (is_mistaken || is_gone) {
    file.throw_away(folder_, lock);  // nothing is there to share
    return;
  }
  FetchRecord& record = state.fetch;
  const int failures = record.failures.load(std::memory_order_relaxed) + 1;
  record.failure.set(error.what());
  record.failure_hint.set(error.hint());
  record.failure_code.store(static_cast<int>(error.code()), std::memory_order_relaxed);
  record.retry_at_ms.store(now_ms() + range::pause_after(failures, error.retryable()).count(),
                           std::memory_order_relaxed);
  record.failures.store(failures, std::memory_order_relaxed);
}

/// The store's mutex is held. After fork() the parent's connection is left alone.
Store& SharedBuffer::store_until(Time deadline) {
  if (store_process_ != getpid()) {
    static_cast<void>(store_.release());
    store_ = std::make_unique<Store>(store_options_);
    store_process_ = getpid();
  }
  const auto left = std::chrono::ceil<milliseconds>(deadline - clock().steady_now());
  store_->set_timeout(tries_once_ ? milliseconds::zero() : std::max(left, milliseconds(1)));
  return *store_;
}

void SharedBuffer::pause(Time deadline, milliseconds& length) {
  constexpr milliseconds longest{20};
  const auto left = deadline - clock().steady_now();
  clock().sleep_for(std::min<std::chrono::nanoseconds>(length, left));
  length = std::min(length * 2, longest);
}

Error SharedBuffer::timed_out() {
  const FetchRecord& record = file()->state().fetch;
  const std::string waited = fmt::format("no {} came within {}", what(), text_of(timeout_));
  if (record.failures.load(std::memory_order_relaxed) == 0) {
    return {ErrorCode::unavailable, waited,
            "another process of this host is about to fetch it; if that is stopped, let it go on or kill it"};
  }
  return {ErrorCode::unavailable, fmt::format("{}: {}", waited, record.failure.get()),
          record.failure_hint.get()};
}

std::string SharedBuffer::what() const {
  return subject_.kind == HostBuffer::Kind::tag ? fmt::format("segment of tag '{}'", subject_.name)
                                                : "window of time";
}

Error SharedBuffer::went_back(std::int64_t highest) const {
  constexpr const char* why = "it was put back to a backup, or an old standby took over";
  if (subject_.kind == HostBuffer::Kind::worker) {
    return {ErrorCode::refused, fmt::format("the store has leased the same time before: {}", why),
            "choose another --worker-name, or wait until that time is over"};
  }
  return {
      ErrorCode::refused,
      fmt::format("the store has granted IDs of tag '{}' before, up to {}: {}", subject_.name, highest - 1,
                  why),
      fmt::format("find out what other hosts have got, then 'leafctl tags update {} --raise-to ID' above it",
                  subject_.name)};
}

}  // namespace leaf::host
