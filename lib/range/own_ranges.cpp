#include "range/own_ranges.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace leaf::range {

OwnRanges::OwnRanges(std::unique_ptr<const Granter> granter, const StoreOptions& store, Fetcher& fetcher)
    : RangeSource(std::move(granter)), store_options_(store), fetcher_(fetcher) {
  draw_from(current_->buffer);
}

GrantRecord OwnRanges::record() const {
  return last().record;
}

std::string OwnRanges::origin() const {
  const std::lock_guard lock(stores_mutex_);
  return origin_;
}

StoreIdentity OwnRanges::granted_by() const {
  return last().store;
}

Filled OwnRanges::last() const {
  const std::lock_guard lock(stores_mutex_);
  return current_->last;
}

void OwnRanges::connect(Store& store) const {
  const StoreIdentity here = last().store;
  if (!here.deployment.empty()) store.connect_by(0, here);
}

void OwnRanges::fetch() {
  if (!wants_fetch()) return;
  Store store(store_options_);
  const std::lock_guard fetch_lock(fetch_mutex_);
  const DoubleBuffer& seen = buffer();
  if (seen.wants_next()) fetch_locked(store, seen);  // another thread may have been faster
}

void OwnRanges::fetch(Store& store, bool is_awaited) {
  const DoubleBuffer& seen = buffer();
  const std::uint32_t turn = seen.next_turn();
  if (!is_awaited && !seen.wants_next()) return;  // another thread was faster, and this turn comes after its
  const std::lock_guard fetch_lock(fetch_mutex_);
  if (seen.next_turn() == turn) fetch_locked(store, seen);
}

void OwnRanges::fetch_locked(Store& store, const DoubleBuffer& seen) {
  std::unique_lock lock(stores_mutex_);
  // Whoever waits has not looked yet at what the name leads to now.
  const bool is_unseen = std::exchange(has_moved_, false) && !current_->buffer.wants_next();
  if (&current_->buffer != &seen || is_unseen) return;
  Filled filled = current_->last;
  filled.drawn_origin = origin_;
  lock.unlock();
  connect(store);
  const Granted granted = grant(store, filled);
  lock.lock();
  const bool is_alike = granted.store == filled.store && granted.origin == filled.origin;
  const auto now = std::chrono::floor<std::chrono::milliseconds>(store_options_.clock->now());
  if (is_alike && granter().still_serves(filled.buffer, filled.origin, std::min(granted.asked, now))) return;
  origin_ = granted.origin;
  OfStore& its = of(granted.store);
  if (its.last.origin != granted.origin) its.buffer.drain();  // of a tag that was removed and added again
  const bool is_filled = &its.buffer == &filled.buffer;
  // Where the name has led back, what is left comes first. A grant that has no room behind it is lost.
  if (is_filled || (its.buffer.wants_next() && its.buffer.published_end() <= granted.range.lo)) {
    its.last.origin = granted.origin;
    its.last.record = granted.record;
    its.buffer.publish(granted.range, granted.mark, granted.label);
  }
  if (!is_filled) go_to(its);
}

OwnRanges::OfStore& OwnRanges::of(const StoreIdentity& store) {
  const auto known = std::ranges::find(stores_, store, [](const OfStore& one) { return one.last.store; });
  if (known != stores_.end()) return *known;
  stores_.emplace_back().last.store = store;
  return stores_.back();
}

void OwnRanges::go_to(OfStore& next) {
  if (&next == current_) return;
  // Who has drawn nothing yet has nothing of another store.
  std::optional<StoreChanges::Change> change;
  if (current_ != &stores_.front()) change.emplace(changes_);
  current_ = &next;
  draw_from(next.buffer);
}

bool OwnRanges::check() {
  const auto now = store_options_.clock->steady_now();
  const DoubleBuffer& drawn_from = buffer();
  const std::pair now_at(&drawn_from, drawn_from.view().word);  // two stores' words may be alike
  if (now - checked_at_ < name_lasts || std::exchange(checked_word_, now_at) == now_at) return false;
  checked_at_ = now;
  return true;
}

void OwnRanges::check_name(Store& store) {
  connect(store);
  const StoreIdentity here = granter().identify(store);
  const std::lock_guard lock(stores_mutex_);
  if (current_ == &stores_.front()) return;
  OfStore& its = of(here);
  has_moved_ = has_moved_ || &its != current_;
  go_to(its);
}

}  // namespace leaf::range
