#include "snowflake/own_windows.hpp"

#include <fmt/format.h>

#include "leaf/error.hpp"
#include "snowflake/window_leases.hpp"
#include "text/hint.hpp"

namespace leaf::snowflake {

OwnWindows::Buffer::Buffer(Store& store, const WorkerRequest& wanted, Clock& clock)
    : RefilledBuffer(clock),
      positions(store.layout()),
      request(valid_request(wanted, positions.layout())),
      lease(store.acquire_worker(request)) {
  // cppcheck-suppress useInitializationList // the lease has fixed the layout, and may have changed it
  positions = layout::Positions(store.layout());
  const range::Refill first = refill_of(lease, positions);
  buffer.publish(first.range, first.mark, first.label);
  note_granted_by(lease.store);
  buffer.advance(buffer.view());
}

range::Refill OwnWindows::Buffer::refill(Store& store) {
  WorkerLease next = next_lease(store, lease, request);
  if (next.store != lease.store && store.layout() != positions.layout()) {
    throw Error(
        ErrorCode::refused,
        fmt::format("the store is another deployment now, with the layout '{}'", store.layout().name()),
        "start this program again"_hint);
  }
  const range::Refill refill = refill_of(next, positions);
  lease = next;
  return refill;
}

OwnWindows::OwnWindows(const StoreOptions& store, const WorkerRequest& request,
                       const range::Refiller::Options& options, bool release_at_end)
    : store_(store),
      windows_(store_, request, *store.clock),
      refiller_(std::in_place, store, options),
      release_at_end_(release_at_end) {
  refiller_->watch(windows_);
}

OwnWindows::~OwnWindows() {
  refiller_.reset();  // no lease may come in any more
  const layout::Positions& positions = windows_.positions;
  const std::int64_t end = windows_.buffer.view().rest.lo + positions.layout().max_sequence();
  const UnixTime used_until = positions.layout().time_at(positions.ticks_of(end));
  try {
    if (release_at_end_) {
      store_.release_worker(windows_.lease, used_until);
    } else {
      store_.give_up_worker(windows_.lease, used_until);
    }
  } catch (const Error&) {
    // The worker is free when its window is over.
  }
}

}  // namespace leaf::snowflake
