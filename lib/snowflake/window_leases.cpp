#include "snowflake/window_leases.hpp"

#include <algorithm>

namespace leaf::snowflake {

range::Refill refill_of(WorkerLease& lease, const layout::Positions& positions) {
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
    throw Error(ErrorCode::failed, "the store leased less than a unit of time");
  }
  lease.end = std::min(lease.end, layout.time_at(hi));
  const Range range{positions.first_of(lo), positions.first_of(hi)};
  // Half of a window is left to wait for a store that is away.
  return {.range = range,
          .mark = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, range.size() / 2)),
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
