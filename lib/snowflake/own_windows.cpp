#include "snowflake/own_windows.hpp"

#include <fmt/format.h>

#include "hint.hpp"
#include "leaf/error.hpp"

namespace leaf::snowflake {

OwnWindows::Buffer::Buffer(Store& store, const WorkerRequest& wanted, Clock& clock)
    : RefilledBuffer(clock),
      positions(store.layout()),
      request(valid_request(wanted, positions.layout())),
      lease(store.acquire_worker(request)) {
  // cppcheck-suppress useInitializationList // the lease has fixed the layout, and may have changed it
  positions = Positions(store.layout());
  const range::Refill first = positions.refill_of(lease);
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
  const range::Refill refill = positions.refill_of(next);
  lease = next;
  return refill;
}

OwnWindows::OwnWindows(const StoreOptions& store, const WorkerRequest& request,
                       const range::Refiller::Options& options)
    : store_(store), windows_(store_, request, *store.clock), refiller_(std::in_place, store, options) {
  refiller_->watch(windows_);
}

OwnWindows::~OwnWindows() {
  refiller_.reset();  // no lease may come in any more
  const Positions& positions = windows_.positions;
  const std::int64_t end = windows_.buffer.view().rest.lo + positions.layout().max_sequence();
  try {
    store_.give_up_worker(windows_.lease, positions.layout().time_at(positions.ticks_of(end)));
  } catch (const Error&) {
    // The worker is free when its window is over.
  }
}

}  // namespace leaf::snowflake
