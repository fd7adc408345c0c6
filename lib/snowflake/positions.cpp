#include "snowflake/positions.hpp"

#include <algorithm>
#include <bit>

namespace leaf::snowflake {

Positions::Positions(const Layout& layout)
    : layout_(layout), sequence_bits_(std::popcount(static_cast<std::uint64_t>(layout.max_sequence()))) {}

range::Refill Positions::refill_of(WorkerLease& lease) const {
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
  const Range positions{first_of(lo), first_of(hi)};
  // Half of a window is left to wait for a store that is away.
  return {.range = positions,
          .mark = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, positions.size() / 2)),
          .label = static_cast<std::uint32_t>(lease.worker),
          .store = lease.store};
}

WorkerRequest valid_request(WorkerRequest request, const Layout& layout) {
  request.window = std::max(request.window, 2 * layout.unit());
  return request;
}

WorkerLease next_lease(Store& store, const WorkerLease& lease, const WorkerRequest& request) {
  try {
    return store.renew_worker(lease, request);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
  // Recycled. What was leased stays ours, so the new worker begins after it and IDs stay in order.
  WorkerRequest another = request;
  another.not_before = lease.end;
  return store.acquire_worker(another);
}

}  // namespace leaf::snowflake
