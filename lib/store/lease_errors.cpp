#include "store/lease_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "layout/layout_text.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf::store {

namespace {

/// Of a store's workers those that no clock that was ahead keeps from being leased.
struct InTime {
  bool are_held = false;                  ///< at least one
  std::optional<UnixTime> first_freed{};  ///< when the first can be leased that nobody holds
};

InTime in_time(const std::vector<Worker>& workers) {
  InTime found;
  for (const Worker& worker : workers) {
    if (!worker.in_range || worker.leased_ahead()) continue;
    if (!worker.owner.empty()) {
      found.are_held = true;
    } else {
      found.first_freed = std::min(found.first_freed.value_or(UnixTime::max()), worker.window_end);
    }
  }
  return found;
}

}  // namespace

Error no_lease_before(UnixTime from, UnixTime now) {
  // As long as the longest wait is, from the right time on.
  constexpr std::chrono::days longest{2};
  const Remedy settle{Remedy::Kind::settle_failover};
  const std::string time = to_rfc3339(from);
  const std::string told = fmt::format(
      "no worker is leased until {}: after a failover or restore the store may lack leases "
      "that are still in use",
      time);
  if (from > now + longest) {
    return {
        ErrorCode::unavailable, told,
        advice(
            "a clock is behind, or was ahead: wait until {}, or do what leafctl-failover(1) says of that. If "
            "no commit was lost and no backup restored, saying so{} ends the wait"_hint,
            time, settle)};
  }
  return {ErrorCode::unavailable, told,
          advice("wait until then; hosts with an open window continue, unless the tables were restored. If "
                 "no commit was lost and no backup restored, saying so{} ends the wait"_hint,
                 settle)};
}

Error all_taken(const WorkerPool& pool, const std::vector<Worker>& workers) {
  const bool leases_all = pool.workers.size() > pool.layout.max_worker();
  const std::string range =
      leases_all ? ""
                 : fmt::format(" that this store leases, {} to {},", pool.workers.first, pool.workers.last);
  const std::string taken = fmt::format("all {} workers{} are taken", pool.workers.size(), range);
  UnixTime first = UnixTime::max();
  std::int64_t ahead = 0;
  for (const Worker& worker : workers) {
    if (!worker.leased_ahead() || !worker.in_range) continue;
    ++ahead;
    first = std::min(first, worker.window_end);
  }
  const auto [are_held, freed] = in_time(workers);
  const std::string text = ahead == 0
                               ? taken
                               : fmt::format("{}, {} of them because a clock was ahead: the first until {}",
                                             taken, ahead, to_rfc3339(first));
  if (freed && !are_held) {
    return {
        ErrorCode::exhausted, text,
        fmt::format("try again at {}, when the window of the first one is over"_hint, to_rfc3339(*freed))};
  }
  if (freed) {
    return {
        ErrorCode::exhausted, text,
        advice(
            "wait until {} at the latest, when the window of one that was freed is over; or free one whose holder is gone{}"_hint,
            to_rfc3339(*freed), Remedy{Remedy::Kind::recycle_worker})};
  }
  if (ahead == 0) {
    return {ErrorCode::exhausted, taken,
            advice("see who holds them{}, and free those whose holder is gone{}"_hint,
                   Remedy{Remedy::Kind::list_workers}, Remedy{Remedy::Kind::recycle_worker})};
  }
  // Not in a new store: it knows nothing of windows that lie ahead, and would make their IDs again.
  const Remedy more{Remedy::Kind::choose_worker_range};
  if (ahead >= pool.workers.size()) {
    return {ErrorCode::exhausted, text,
            leases_all ? Advice("wait until then"_hint)
                       : advice("wait until then, or have the store lease more workers{}, none of which "
                                "another store leases"_hint,
                                more)};
  }
  const Remedy recycle{Remedy::Kind::recycle_worker};
  return {
      ErrorCode::exhausted, text,
      leases_all
          ? advice("free those of the others whose holder is gone{}"_hint, recycle)
          : advice("free those of the others whose holder is gone{}, or have the store lease more workers{}, "
                   "none of which another store leases"_hint,
                   recycle, more)};
}

Error locked() {
  return {ErrorCode::unavailable, "every free worker is locked by another transaction",
          advice("try again; see who holds a lock{}"_hint, Remedy{Remedy::Kind::check_store})};
}

Error not_free(std::int64_t number, const std::vector<Worker>& workers, UnixTime host_time) {
  const auto refused = [number](const Advice& what_helps) {
    return Error(ErrorCode::refused,
                 fmt::format("worker {} is held by another owner, or its window is not over", number),
                 what_helps);
  };
  const Remedy another{Remedy::Kind::choose_worker};
  const auto held = std::ranges::find(workers, number, &Worker::id);
  if (held != workers.end() && held->window_end > held->renewed_at + held->silent_for) {
    return refused(advice("wait until {}, when its window is over, or take another{}"_hint,
                          to_rfc3339(held->window_end), another));
  }
  if (held != workers.end() && held->window_end > host_time) {
    return refused(advice(
        "this host's clock is behind the store's: set it right, wait until it says {}, or take another{}"_hint,
        to_rfc3339(held->window_end), another));
  }
  return refused(advice("free it{}"_hint, Remedy{.kind = Remedy::Kind::recycle_worker, .number = number}));
}

void require_not_ahead(const WorkerRequest& request, const std::vector<Worker>& workers) {
  const auto held = std::ranges::find(workers, *request.worker, &Worker::id);
  if (held == workers.end() || !held->leased_ahead()) return;
  const Remedy other{Remedy::Kind::choose_worker};
  const Remedy release{.kind = Remedy::Kind::release_workers, .name = request.owner};
  throw Error(
      ErrorCode::refused,
      fmt::format("the clock is behind the time that worker {} was leased for, until {}", held->id,
                  to_rfc3339(held->window_end)),
      held->owner == request.owner
          ? advice(
                "set the clock right; if it is right already, release it{}, then take another worker{}"_hint,
                release, other)
          : advice("set the clock right; if it is right already, take another worker{}"_hint, other));
}

}  // namespace leaf::store
