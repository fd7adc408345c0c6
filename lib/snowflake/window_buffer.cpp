#include "snowflake/window_buffer.hpp"

#include <algorithm>
#include <bit>

namespace leaf::snowflake {

namespace {

/// A shorter window might hold no unit as a whole.
WorkerRequest& at_least_two_units(WorkerRequest& request, const Layout& layout) {
  request.window = std::max(request.window, 2 * layout.unit());
  return request;
}

}  // namespace

WindowBuffer::WindowBuffer(Store& store, WorkerRequest request)
    : request_(std::move(request)),
      layout_(store.layout()),
      sequence_bits_(std::popcount(static_cast<std::uint64_t>(layout_.max_sequence()))),
      lease_(store.acquire_worker(at_least_two_units(request_, layout_))) {
  layout_ = store.layout();  // from now on it is fixed
  sequence_bits_ = std::popcount(static_cast<std::uint64_t>(layout_.max_sequence()));
  const range::Refill first = refill_of(lease_);
  buffer.publish(first.range, first.mark, first.label);
  buffer.advance(buffer.view());
}

range::Refill WindowBuffer::refill(Store& store) {
  WorkerLease next;
  try {
    next = store.renew_worker(lease_, request_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    // Recycled. What was leased stays ours, so the new worker begins after it and IDs stay in order.
    WorkerRequest another = request_;
    another.not_before = lease_.end;
    next = store.acquire_worker(another);
  }
  const range::Refill refill = refill_of(next);
  lease_ = next;
  return refill;
}

/// Cuts `lease` to what fits in a buffer; the rest is leased again as part of the next window.
range::Refill WindowBuffer::refill_of(WorkerLease& lease) const {
  const auto unit = layout_.unit();
  if (lease.begin < layout_.epoch()) layout_.ticks_at(lease.begin);  // throws
  // Only units that lie in the window as a whole: neighbouring windows never share one.
  const std::int64_t lo = (lease.begin - layout_.epoch() + unit - std::chrono::milliseconds(1)) / unit;
  const std::int64_t fitting = static_cast<std::int64_t>(range::DoubleBuffer::max_size >> sequence_bits_);
  const std::int64_t hi =
      std::min({std::int64_t{(lease.end - layout_.epoch()) / unit}, lo + fitting, layout_.max_ticks() + 1});
  if (lo >= hi) {
    layout_.ticks_at(lease.end);  // throws past the last bit
    throw Error(ErrorCode::failed, "the store leased less than a unit of time");
  }
  lease.end = std::min(lease.end, layout_.time_at(hi));
  const Range positions{first_position(lo), first_position(hi)};
  // Half of a window is left to wait for a store that is away.
  return {.range = positions,
          .mark = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, positions.size() / 2)),
          .label = static_cast<std::uint32_t>(lease.worker)};
}

void WindowBuffer::give_up(Store& store) {
  const auto view = buffer.view();
  const std::int64_t used_up_to = ticks_of(view.rest.lo + layout_.max_sequence());
  store.give_up_worker(lease_, layout_.time_at(used_up_to));
}

}  // namespace leaf::snowflake
