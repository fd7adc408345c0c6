#include "snowflake/window_granter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "leaf/error.hpp"
#include "store/grant_marks.hpp"
#include "store/lease_clocks.hpp"
#include "store/window_length.hpp"
#include "text/duration_text.hpp"
#include "text/hint.hpp"

namespace leaf::snowflake {

namespace {

/// Where the next window may begin: nothing of a later time was published. Not before the holder's first one,
/// for what lies before that was others'.
UnixTime end_of_published(const range::Filled& filled, UnixTime held_from) {
  const std::int64_t end = filled.buffer.published_end();
  if (end == 0) return held_from;
  const layout::Positions positions(Layout::parse(filled.origin));  // the store may have another layout now
  return std::max(held_from, positions.layout().time_at(positions.ticks_of(end)));
}

/// When the first unit of time begins that lies behind all positions before `end` as a whole.
UnixTime after(std::int64_t end, const Layout& layout) {
  return layout.time_at(layout::Positions(layout).ticks_of(end - 1) + 1);
}

/// The lease that follows `lease`, with another worker if that was recycled. Throws Error as the store does.
WorkerLease next_lease(Store& store, const WorkerLease& lease, const WorkerRequest& request) {
  try {
    return store.renew_worker(lease, request);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
  // Recycled. What was leased stays ours, so the new worker begins after it and IDs stay in order.
  WorkerRequest another = request;
  // Or the name leads to another store by now, which need not begin behind it.
  if (store.identity() == lease.store) another.not_before = std::max(request.not_before, lease.end);
  return store.acquire_worker(another);
}

}  // namespace

std::string key_of(const WorkerRequest& request) {
  return request.worker ? fmt::format("{} {}", request.owner, *request.worker) : request.owner;
}

Range positions_of(const WorkerLease& lease, const layout::Positions& positions) {
  const Layout& layout = positions.layout();
  const auto unit = layout.unit();
  if (lease.begin < layout.epoch()) layout.ticks_at(lease.begin);  // throws
  // Only units that lie in the window as a whole: neighbouring windows never share one.
  const std::int64_t lo = (lease.begin - layout.epoch() + unit - std::chrono::milliseconds(1)) / unit;
  const std::int64_t fitting = positions.ticks_of(range::DoubleBuffer::max_size);
  const std::int64_t hi =
      std::min({std::int64_t{(lease.end - layout.epoch()) / unit}, lo + fitting, layout.max_ticks() + 1});
  if (lo >= hi) {
    layout.ticks_at(lease.end);  // throws past the last bit
    // The store reads its clock more than once, and it goes on in between.
    throw Error(ErrorCode::unavailable, "the store leased less than a unit of time", "try again"_hint);
  }
  return {positions.first_of(lo), positions.first_of(hi)};
}

UnixTime used_until(UnixTime begin, std::int64_t end, const layout::Positions& positions) {
  const Layout& layout = positions.layout();
  const UnixTime time = layout.time_at(positions.ticks_of(end + layout.max_sequence()));
  // Of a unit that runs at `begin` nothing was to be had: the first one that was is untouched.
  return time - layout.unit() < begin ? begin : time;
}

std::uint32_t mark_of(const Range& window, const Layout& layout) {
  const auto of_a_unit = static_cast<std::uint64_t>(layout.max_sequence()) + 1;
  return window.size() <= of_a_unit ? 1 : static_cast<std::uint32_t>(window.size() / 2);
}

std::string WindowGranter::order_mark() const {
  return mark_of_order(request_.owner);
}

bool WindowGranter::still_serves(const range::DoubleBuffer& buffer, const std::string& origin,
                                 UnixTime time) const {
  const auto view = buffer.view();
  if (!view.has_next) return false;
  const layout::Positions positions(Layout::parse(origin));
  return time < positions.layout().time_at(positions.ticks_of(view.next.hi));
}

void WindowGranter::require_alike(const std::string& last, const std::string& next) const {
  if (last == next) return;
  throw Error(
      ErrorCode::refused,
      fmt::format("the store is another deployment now, with the layout '{}'", Layout::parse(next).name()),
      "start this program again"_hint);
}

range::Granted WindowGranter::grant(Store& store, const range::Filled& filled) const {
  try {
    return grant_next(store, filled);
  } catch (const Error& error) {
    const bool has_windows = filled.buffer.published_end() != 0;
    if (in_memory_ && has_windows) throw store::for_windows_in_memory(error);
    throw;
  }
}

range::Granted WindowGranter::grant_next(Store& store, const range::Filled& filled) const {
  const auto last = range::record_as<range::WindowRecord>(filled.record);
  const Layout asked = store.layout();
  WorkerRequest request = request_;
  if (!filled.drawn_origin.empty()) {
    require_alike(filled.drawn_origin, asked.text());
    request.layout = asked;  // also if the store's name leads elsewhere by now
  }
  request = store::with_whole_unit(request, asked);
  // Another store knows nothing of the last lease, and need not begin behind it. What was leased for a buffer
  // that is closed may be in use up to its end, which may be far ahead.
  const bool has_last = !last.token.empty() && !filled.buffer.is_closed();
  const bool is_first = !has_last || store.identity() != filled.store;
  WorkerLease lease;
  if (is_first) {
    if (filled.order_end != 0)
      request.not_before = std::max(request.not_before, after(filled.order_end, asked));
    // The other processes of a host would wait for the one that waits, and take its turn.
    lease = in_memory_ ? store.await_worker(request) : store.acquire_worker(request);
  } else {
    lease = next_lease(store,
                       {.worker = last.worker,
                        .token = last.token,
                        .begin = {},
                        .end = end_of_published(filled, last.begin),
                        .store = filled.store},
                       request);
  }
  // Its own, wherever the store's name leads by now.
  const Layout& layout = *lease.layout;
  const Range range = positions_of(lease, layout::Positions(layout));
  if (has_last && lease.store == filled.store && range.lo < filled.buffer.published_end()) {
    if (is_first)
      throw Error(ErrorCode::unavailable, "the store's name led to another store for a moment",
                  "try again"_hint);
    throw Error(ErrorCode::refused,
                "the store has leased the same time before: it was restored from a backup, or an old standby "
                "took over",
                "try again when that time has passed"_hint);
  }
  return {.range = range,
          .mark = mark_of(range, layout),
          .label = static_cast<std::uint32_t>(lease.worker),
          .store = lease.store,
          .origin = layout.text(),
          .record = range::WindowRecord{.begin = lease.token == last.token ? last.begin : lease.begin,
                                        .worker = lease.worker,
                                        .token = lease.token},
          .asked = lease.asked};
}

}  // namespace leaf::snowflake
