#include "host/shared_ranges.hpp"

#include <algorithm>
#include <utility>

#include "host/fetch_record.hpp"
#include "host/granted_record.hpp"
#include "host/host_marks.hpp"
#include "leaf/detail/known_store.hpp"
#include "leaf/error.hpp"
#include "store/retry.hpp"

namespace leaf::host {

using std::chrono::milliseconds;

namespace {

/// How long a call that the buffer could serve may take to ask where the store's name leads to.
constexpr milliseconds check_patience{250};

bool is_damaged(StateFile& file) {
  return !file.is_intact() || !is_undamaged(file.state().header);
}

}  // namespace

SharedRanges::SharedRanges(std::unique_ptr<const range::Granter> granter, FileKind kind,
                           const std::string& key, const StoreOptions& store, const HostOptions& host,
                           milliseconds timeout, range::Fetcher* fetcher, Commons commons)
    : RangeSource(std::move(granter)),
      store_options_(to_keep(store, host)),
      tries_once_(timeout == milliseconds::zero()),
      timeout_(store::allowed(timeout)),
      key_{.kind = kind, .name = this->granter().name(), .key = key},
      name_(store.url, host),
      on_fetch_change_(host.on_fetch_change),
      fetcher_(fetcher),
      folder_(commons.folder ? std::move(commons.folder) : std::make_shared<CurrentFolder>(host)),
      stores_(commons.stores ? std::move(commons.stores) : std::make_shared<StorePool>(store_options_, 1)) {
  draw_from(nowhere_.buffer);
  const auto known = follow_name();
  if (!known) return;
  try {
    go_to_current_file();
  } catch (const Error& error) {
    if (!error.retryable()) throw;
    return;  // whoever draws waits until it can be gone to
  }
  if (tries_once_ || !known->check_is_due || !name_.claim_check(*folder_->get(), now())) return;
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
  const auto folder = folder_->get();
  const std::lock_guard lock(files_mutex_);
  if (identity_) return true;
  const auto known = name_.look_up(*folder, now());
  if (!known || (is_shut_out_ && known->check_is_due)) return false;
  identity_ = known->store;
  return true;
}

std::optional<StoreName::Known> SharedRanges::follow_name(const std::optional<StoreIdentity>& if_unknown) {
  const auto folder = folder_->get();
  const std::lock_guard lock(files_mutex_);
  auto known = name_.look_up(*folder, now());
  if (known || if_unknown) identity_ = known ? known->store : *if_unknown;
  return known;
}

std::shared_ptr<StateFile> SharedRanges::current_file(const std::optional<StoreIdentity>& of) {
  const auto folder = folder_->get();
  const std::lock_guard lock(files_mutex_);
  return current_file(*folder, of ? of : identity_);
}

std::shared_ptr<StateFile> SharedRanges::current_file(const Folder& folder,
                                                      const std::optional<StoreIdentity>& of) {
  if (!of) return nullptr;
  if (!file_ || file_->identity() != *of || !file_->is_current(folder) || is_damaged(*file_)) {
    FileKey key = key_;
    key.shown_store = name_.shown_for(*of);
    key.identity = *of;
    file_ = StateFile::open(folder, key);
  }
  return file_;
}

/// Found and gone to in one go: another thread may have learned meanwhile that the name leads elsewhere.
std::shared_ptr<StateFile> SharedRanges::go_to_current_file() {
  const auto folder = folder_->get();
  const std::lock_guard lock(files_mutex_);
  try {
    auto current = current_file(*folder, identity_);
    go_to(current && current->state().buffer.published_end() != 0 ? current->shared_state() : nullptr);
    return current;
  } catch (...) {
    // Whoever holds the lock of a file that is damaged keeps it from being replaced.
    if (file_ && &file_->state() == &state() && file_->is_whole() && is_damaged(*file_)) go_to(nullptr);
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
  // Also where it has no buffer yet: calls for many are granted theirs beside it.
  const StoreIdentity store = next ? identity_of(next->header) : identity_.value_or(StoreIdentity());
  const bool is_of_another = drawn_store_ && *drawn_store_ != store;
  if (&to == &state() && !is_of_another) return;
  if (next) {
    const std::string origin = next->origin.get();
    if (next->origin_checksum.load(std::memory_order_relaxed) != checksum_of_origin(origin))
      return go_to(nullptr);  // damaged since it was opened: it is looked at again
    if (!origin_.empty()) granter().require_alike(origin_, origin);
    origin_ = origin;
    is_shut_out_ = false;
    if (std::ranges::find(drawn_from_, next) == drawn_from_.end()) drawn_from_.push_back(next);
  }
  // Who has drawn nothing yet has nothing of another one.
  std::optional<range::StoreChanges::Change> of_buffer, of_store;
  if (&state() != &nowhere_) of_buffer.emplace(buffer_changes_);
  if (is_of_another) of_store.emplace(store_changes_);
  if (next || drawn_store_) drawn_store_ = store;
  state_.store(&to, std::memory_order_release);
  draw_from(to.buffer);
}

std::string SharedRanges::origin() const {
  const std::lock_guard lock(files_mutex_);
  return origin_;
}

void SharedRanges::find_store(Time deadline) {
  if (is_known()) return;
  const auto store_lock = lock_store(deadline);
  if (is_known()) return;  // another thread has found it
  const StorePool::Borrowed borrowed = store_until(deadline);
  Store& asked = *borrowed;
  const auto question = ask(asked);
  try {
    note(granter().identify(asked), question);
  } catch (const Error& error) {
    if (!name_.led_to_anywhere(*folder_->get())) throw;
    throw detail::with_known_store(error);
  }
}

/// What follows is not drawn from the buffer of a store before.
std::shared_ptr<StateFile> SharedRanges::go_to_store(Time deadline, std::optional<Error>& failure) {
  const Time begun = clock().steady_now();
  try {
    find_store(deadline);
    return go_to_current_file();
  } catch (const Error& error) {
    if (tries_once_ || !error.retryable()) throw;
    keep_reason(failure, error, begun, deadline);
    return nullptr;
  }
}

void SharedRanges::note(const StoreIdentity& store, const StoreName::Question& question) {
  name_.note(*folder_->get(), store, question, [this] { return now(); });
  follow_name(store);
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
  const auto known = follow_name();
  if (known) {
    go_to_current_file();
  } else {
    const auto folder = folder_->get();
    const std::lock_guard lock(files_mutex_);
    if (identity_ && name_.visibly_leads_elsewhere(*folder, *identity_)) leave_store();
  }
  return (!known || known->check_is_due) && name_.claim_check(*folder_->get(), now());
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
  const auto known = name_.look_up(*folder_->get(), now());
  return !known || known->check_is_due;
}

}  // namespace leaf::host
