#include "host/granted_record.hpp"

#include <algorithm>
#include <utility>

#include "host/hash.hpp"
#include "store/uuid.hpp"

namespace leaf::host {

namespace {

/// No store has leased a worker by it: the lease is another's by now, as that of a recycled worker is.
/// PostgreSQL reads no text but a UUID as a token, and a call that it cannot read would fail for good.
constexpr const char* token_of_nobody = "00000000-0000-0000-0000-000000000000";

using std::chrono::milliseconds;

std::int64_t load(const Shared<std::int64_t>& value) {
  return value.load(std::memory_order_relaxed);
}

void store_in(Shared<std::int64_t>& value, std::int64_t number) {
  value.store(number, std::memory_order_relaxed);
}

range::SegmentRecord segment_record_of(const SharedState& state) {
  const TagRecord& tag = state.tag;
  const std::int64_t limit = load(tag.limit);
  return {.steps = {.step = load(tag.step),
                    .tag_step = load(tag.tag_step),
                    .fetches = static_cast<int>(load(tag.fetches)),
                    .last_fetch = UnixTime(milliseconds(load(tag.last_fetch_ms))),
                    .starved = state.starved.load(std::memory_order_relaxed) != 0},
          .start = std::max<std::int64_t>(load(state.start), 1),
          .limit = limit == 0 ? max_id : limit,
          .granted_end = load(tag.granted_end)};
}

std::uint64_t checksum_of(const range::WindowRecord& record) {
  return Hash()
      .add_number(static_cast<std::uint64_t>(record.begin.time_since_epoch().count()))
      .add_number(static_cast<std::uint64_t>(record.worker))
      .add(record.token)
      .value();
}

/// Whether a store may have leased it. Earlier releases noted no checksum.
bool may_be_leased(const range::WindowRecord& record) {
  return store::is_uuid(record.token) && record.worker >= 0 && std::in_range<std::int32_t>(record.worker);
}

range::WindowRecord window_record_of(const SharedState& state) {
  const WorkerRecord& worker = state.worker;
  range::WindowRecord record{.begin = UnixTime(milliseconds(load(worker.begin_ms))),
                             .worker = load(worker.worker),
                             .token = worker.token.get()};
  const std::uint64_t checksum = state.worker_checksum.load(std::memory_order_relaxed);
  const bool is_known =
      checksum == 0 ? record.token.empty() || may_be_leased(record) : checksum == checksum_of(record);
  // Or whoever noted it died over that, or knew no checksum.
  if (!is_known) return {.begin = {}, .worker = 0, .token = token_of_nobody};
  return record;
}

void keep(const range::SegmentRecord& record, SharedState& state) {
  TagRecord& tag = state.tag;
  store_in(tag.step, record.steps.step);
  store_in(tag.tag_step, record.steps.tag_step);
  store_in(tag.fetches, record.steps.fetches);
  store_in(tag.last_fetch_ms, record.steps.last_fetch.time_since_epoch().count());
  state.starved.store(record.steps.starved ? 1 : 0, std::memory_order_relaxed);
  store_in(state.start, record.start);
  store_in(tag.limit, record.limit);
  store_in(tag.granted_end, record.granted_end);
}

void keep(const range::WindowRecord& record, SharedState& state) {
  WorkerRecord& worker = state.worker;
  store_in(worker.begin_ms, record.begin.time_since_epoch().count());
  store_in(worker.worker, record.worker);
  worker.token.set(record.token);
  state.worker_checksum.store(checksum_of(record), std::memory_order_relaxed);
}

}  // namespace

range::GrantRecord record_of(const SharedState& state) {
  switch (state.header.kind) {
    case FileKind::tag:
      return segment_record_of(state);
    case FileKind::worker:
      return window_record_of(state);
    case FileKind::mark:
    case FileKind::store_name:
      break;
  }
  return {};
}

void keep(const range::GrantRecord& record, SharedState& state) {
  if (const auto* const segment = std::get_if<range::SegmentRecord>(&record)) keep(*segment, state);
  if (const auto* const window = std::get_if<range::WindowRecord>(&record)) keep(*window, state);
}

}  // namespace leaf::host
