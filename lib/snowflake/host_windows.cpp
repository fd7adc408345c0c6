#include "snowflake/host_windows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "leaf/error.hpp"
#include "snowflake/window_leases.hpp"
#include "store/expected_layout.hpp"
#include "text/hint.hpp"

namespace leaf::snowflake {

namespace {

/// A pinned worker has windows of its own.
std::string key_of(const WorkerRequest& request) {
  return request.worker ? fmt::format("{} {}", request.owner, *request.worker) : request.owner;
}

/// Where the next window may begin: nothing of a later time was published. Not before the last lease began,
/// for what lies before that was others'.
UnixTime end_of_published(host::State& state) {
  const layout::Positions positions(
      Layout::parse(state.origin.get()));  // the store may have another layout now
  const UnixTime leased{std::chrono::milliseconds(state.worker.begin_ms.load(std::memory_order_relaxed))};
  const std::int64_t end = state.buffer.published_end();
  return end == 0 ? leased : std::max(leased, positions.layout().time_at(positions.ticks_of(end)));
}

}  // namespace

HostWindows::HostWindows(const StoreOptions& store, const HostOptions& host, const WorkerRequest& request,
                         std::chrono::milliseconds timeout, const range::Refiller::Options& refiller)
    : SharedBuffer(store, host, host::FileKind::worker, request.owner, key_of(request), timeout),
      request_(request) {
  const auto is_filled = [this] {
    const auto view = buffer().view();
    return view.has_next || !view.rest.empty();
  };
  if (!is_filled()) SharedBuffer::await(is_filled);
  positions_.emplace(Layout::parse(state().origin.get()));
  require_expected_layout(request_, positions_->layout());
  if (!host.fetch_ahead) return;
  refiller_.emplace(store, refiller);
  refiller_->watch(*this);
}

void HostWindows::request() {
  if (refiller_ && claim_fetch()) refiller_->request(*this);
}

void HostWindows::require_fitting(const host::State& state) const {
  if (!positions_ || positions_->layout().text() == state.origin.get()) return;
  throw Error(ErrorCode::refused,
              fmt::format("the store is another deployment now, with the layout '{}'",
                          Layout::parse(state.origin.get()).name()),
              "start this program again"_hint);
}

host::GrantedRange HostWindows::grant(Store& store, host::StateFile& file) {
  host::State& state = file.state();
  Layout layout = store.layout();
  const WorkerRequest request = valid_request(request_, layout);
  // Another store knows nothing of the last lease, and need not begin behind it.
  const bool is_first = state.worker.token.empty() || store.identity() != file.identity();
  if (is_first) {
    last_ = store.acquire_worker(request);
    layout = store.layout();  // from now on it is fixed
  } else {
    const WorkerLease lease{.worker = state.worker.worker.load(std::memory_order_relaxed),
                            .token = state.worker.token.get(),
                            .begin = {},
                            .end = end_of_published(state)};
    last_ = next_lease(store, lease, request);
  }
  const range::Refill refill = refill_of(last_, layout::Positions(layout));
  if (!is_first && last_.store == file.identity() && refill.range.lo < state.buffer.published_end()) {
    throw Error(
        ErrorCode::refused,
        "the store has leased the same time before: it was put back to a backup, or an old standby took "
        "over",
        "try again when that time has passed"_hint);
  }
  return {.refill = refill, .origin = layout.text()};
}

void HostWindows::note_granted(host::State& state) {
  // The token last: with another worker's it is good for nothing, should this process die in between.
  state.worker.begin_ms.store(last_.begin.time_since_epoch().count(), std::memory_order_relaxed);
  state.worker.worker.store(last_.worker, std::memory_order_relaxed);
  state.worker.token.set(last_.token);
}

}  // namespace leaf::snowflake
