#include "range/own_ranges.hpp"

#include <utility>

namespace leaf::range {

OwnRanges::OwnRanges(std::unique_ptr<const Granter> granter, const StoreOptions& store, Fetcher& fetcher)
    : RangeSource(std::move(granter)), store_options_(store), fetcher_(fetcher) {
  draw_from(own_buffer_);
}

GrantRecord OwnRanges::record() const {
  const std::lock_guard lock(last_mutex_);
  return last_.record;
}

std::string OwnRanges::origin() const {
  const std::lock_guard lock(last_mutex_);
  return last_.origin;
}

StoreIdentity OwnRanges::granted_by() const {
  const std::lock_guard lock(last_mutex_);
  return last_.store;
}

void OwnRanges::fetch() {
  if (!wants_fetch()) return;
  Store store(store_options_);
  const std::lock_guard fetch_lock(fetch_mutex_);
  if (wants_fetch()) fetch_locked(store);  // another thread may have been faster
}

bool OwnRanges::has_ranges_of_another(const StoreIdentity& store, const std::string& origin) const {
  return !last_.origin.empty() && (last_.store != store || last_.origin != origin);
}

void OwnRanges::fetch(Store& store) {
  const std::uint32_t turn = own_buffer_.next_turn();
  const std::lock_guard fetch_lock(fetch_mutex_);
  if (own_buffer_.next_turn() == turn) fetch_locked(store);
}

void OwnRanges::fetch_locked(Store& store) {
  const Filled filled{own_buffer_, granted_by(), origin(), record()};
  const Granted granted = granter().grant(store, filled);
  if (!filled.origin.empty()) granter().require_alike(filled.origin, granted.origin);
  {
    const std::lock_guard lock(last_mutex_);
    if (has_ranges_of_another(granted.store, granted.origin)) drain();
    last_.store = granted.store;
    last_.origin = granted.origin;
    last_.record = granted.record;
  }
  own_buffer_.publish(granted.range, granted.mark, granted.label);
}

bool OwnRanges::check() {
  const auto now = store_options_.clock->steady_now();
  const std::uint64_t word = own_buffer_.view().word;
  if (now - checked_at_ < name_lasts || std::exchange(checked_word_, word) == word) return false;
  checked_at_ = now;
  return true;
}

void OwnRanges::check_name(Store& store) {
  const StoreIdentity here = granter().identify(store);
  const std::lock_guard lock(last_mutex_);
  if (has_ranges_of_another(here, last_.origin)) drain();
}

void OwnRanges::drain() {
  const StoreChanges::Change change(changes_);
  own_buffer_.drain();
}

}  // namespace leaf::range
