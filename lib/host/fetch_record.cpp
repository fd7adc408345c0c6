#include "host/fetch_record.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "host/failure_advice.hpp"
#include "host/process_name.hpp"
#include "range/fetcher.hpp"
#include "range/range_source.hpp"
#include "text/hint.hpp"

namespace leaf::host {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds claim_lasts{1000};
/// A call that has failed may take that long to note it.
constexpr milliseconds to_let_go{1000};
constexpr milliseconds longest_lock{60'000};  ///< that is waited for

std::int64_t now_ms(Clock& clock) {
  return std::chrono::floor<milliseconds>(clock.now()).time_since_epoch().count();
}

/// A time further ahead was written before the clock was set back.
bool is_ahead(std::int64_t time_ms, std::int64_t now_ms, milliseconds at_most) {
  return time_ms > now_ms && time_ms - now_ms <= at_most.count();
}

bool has_failed_for_good(const FetchRecord& record) {
  return static_cast<ErrorCode>(record.failure_code.load(std::memory_order_relaxed)) !=
         ErrorCode::unavailable;
}

/// Whether all wait for the end of the pause that follows a failure.
bool is_pausing(const FetchRecord& record, std::int64_t now_ms) {
  return record.failures.load(std::memory_order_relaxed) > 0 &&
         is_ahead(record.retry_at_ms.load(std::memory_order_relaxed), now_ms,
                  range::longest_pause(!has_failed_for_good(record)));
}

/// Until when somebody claimed the fetch last, if it is due and may be claimed now.
std::optional<std::int64_t> last_claim_if_due(const SharedState& state, std::int64_t now_ms) {
  const auto view = state.buffer.view();
  if (view.has_next || !(view.mark_reached || view.rest.empty())) return std::nullopt;
  if (is_pausing(state.fetch, now_ms)) return std::nullopt;
  const std::int64_t claimed = state.fetch.claimed_until_ms.load(std::memory_order_relaxed);
  return is_ahead(claimed, now_ms, claim_lasts) ? std::nullopt : std::optional(claimed);
}

/// Of how many IDs will have been put into the buffer, and how many were taken of them.
void count(SharedState& state, std::uint64_t granted) {
  TagRecord& record = state.tag;
  const std::int64_t put_in = record.granted.load(std::memory_order_relaxed);
  record.used_before.store(record.used.load(std::memory_order_relaxed), std::memory_order_relaxed);
  record.used.store(put_in - static_cast<std::int64_t>(range::left_in(state.buffer)),
                    std::memory_order_relaxed);
  record.granted.store(put_in + static_cast<std::int64_t>(granted), std::memory_order_relaxed);
}

}  // namespace

bool is_fetch_due(const SharedState& state, Clock& clock) {
  return last_claim_if_due(state, now_ms(clock)).has_value();
}

bool claim_fetch(SharedState& state, Clock& clock) {
  const std::int64_t now = now_ms(clock);
  auto claimed = last_claim_if_due(state, now);
  return claimed && state.fetch.claimed_until_ms.compare_exchange_strong(*claimed, now + claim_lasts.count(),
                                                                         std::memory_order_relaxed);
}

bool may_try(const FetchRecord& record, Clock& clock) {
  return has_failed_for_good(record) || !is_pausing(record, now_ms(clock));
}

void note_fetcher(SharedState& state, milliseconds at_most, Clock& clock) {
  const std::int64_t self = getpid();
  state.fetch.fetcher.store(self, std::memory_order_relaxed);
  state.fetcher_seal.store(process_seal(self), std::memory_order_relaxed);
  state.locked_until_ms.store(now_ms(clock) + std::min(at_most + to_let_go, longest_lock).count(),
                              std::memory_order_relaxed);
  state.locks_taken.fetch_add(1, std::memory_order_relaxed);
}

bool may_be_fetching(const SharedState& state, Clock& clock) {
  return is_ahead(state.locked_until_ms.load(std::memory_order_relaxed), now_ms(clock), longest_lock);
}

bool note_success(SharedState& state, std::uint64_t granted, Clock& clock) {
  FetchRecord& record = state.fetch;
  record.fetched_before_ms.store(record.fetched_at_ms.load(std::memory_order_relaxed),
                                 std::memory_order_relaxed);
  record.fetched_at_ms.store(now_ms(clock), std::memory_order_relaxed);
  const bool had_failed = record.failures.exchange(0, std::memory_order_relaxed) > 0;
  record.fetches.store(record.fetches.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  record.claimed_until_ms.store(0, std::memory_order_relaxed);
  count(state, granted);
  return had_failed;
}

bool note_failure(SharedState& state, const Error& error, Clock& clock) {
  FetchRecord& record = state.fetch;
  const int failures = record.failures.load(std::memory_order_relaxed) + 1;
  const bool is_new =
      failures == 1 || record.failure_code.load(std::memory_order_relaxed) != static_cast<int>(error.code());
  record.failure.set(error.what());
  set_failure_advice(state, error.advice());
  record.failure_code.store(static_cast<int>(error.code()), std::memory_order_relaxed);
  record.retry_at_ms.store(now_ms(clock) + range::pause_after(failures, error.retryable()).count(),
                           std::memory_order_relaxed);
  record.failures.store(failures, std::memory_order_relaxed);
  record.failed_fetches.store(record.failed_fetches.load(std::memory_order_relaxed) + 1,
                              std::memory_order_relaxed);
  return is_new;
}

std::optional<Error> last_failure(const SharedState& state) {
  if (state.fetch.failures.load(std::memory_order_relaxed) == 0) return std::nullopt;
  return Error(ErrorCode::unavailable, state.fetch.failure.get(), failure_advice(state));
}

std::string who_fetches(const SharedState& state) {
  const std::int64_t fetcher = state.fetch.fetcher.load(std::memory_order_relaxed);
  const std::uint64_t seal = state.fetcher_seal.load(std::memory_order_relaxed);
  if (seal == 0 || seal != process_seal(fetcher)) {
    return "a process that is not seen from here, such as one of another container, is fetching it; if it is "
           "stopped, let it go on or kill it"_hint;
  }
  return fmt::format(
      "process {0} of this host is fetching it; if it is stopped, let it go on with 'kill -CONT {0}', or end "
      "it with 'kill -9 {0}'"_hint,
      fetcher);
}

}  // namespace leaf::host
