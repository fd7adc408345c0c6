#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "layout/layout_text.hpp"
#include "leaf/store.hpp"
#include "store/expected_layout.hpp"
#include "store/lease_clocks.hpp"
#include "store/lease_errors.hpp"
#include "store/store_impl.hpp"
#include "store/unix_time.hpp"
#include "store/uuid.hpp"
#include "store/window_length.hpp"
#include "store/worker_choice.hpp"
#include "store/worker_range.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using store::host_time;
using store::LeaseClocks;
using store::Row;
using store::SeenClocks;
using store::time_of;
using store::unix_ms;
using store::Value;
using store::WorkerPool;

/// Gives workers of `store` as spare_worker() does. It and `marks` are borrowed.
auto spare_of(Store& store, GrantMarks& marks, const std::string& deployment) {
  return [&store, &marks, deployment](UnixTime time) {
    return leaf::store::spare_worker(store.workers(), store.worker_range(), marks, deployment, time);
  };
}

void require_valid(const WorkerRequest& request, const WorkerPool& pool) {
  const Layout& layout = pool.layout;
  if (!is_owner_name(request.owner)) {
    throw Error(ErrorCode::usage,
                "the name of a worker's owner is not 1 to 255 printable ASCII characters without spaces",
                advice("choose one{}"_hint, Remedy{Remedy::Kind::choose_owner}));
  }
  if (request.worker) layout.worker_bits(*request.worker);  // throws if it is out of bounds
  if (request.worker && !pool.workers.holds(*request.worker)) {
    throw Error(ErrorCode::usage, fmt::format("this store does not lease worker {}", *request.worker),
                advice("choose one from {} to {}{}, or leave the choice to the store"_hint,
                       pool.workers.first, pool.workers.last, Remedy{Remedy::Kind::choose_worker}));
  }
  if (request.window < layout.unit()) {
    throw Error(ErrorCode::usage,
                fmt::format("a window of {} is shorter than the layout's unit", request.window));
  }
  if (request.max_skew < milliseconds::zero() || request.recycle_after < milliseconds::zero() ||
      request.max_backward < milliseconds::zero()) {
    throw Error(ErrorCode::usage, "a duration is below zero");
  }
}

WorkerLease lease_of(const Row& row, std::string token, StoreIdentity store) {
  store::require_durable(row, 3);
  WorkerLease lease{.worker = row.integer(0),
                    .token = std::move(token),
                    .begin = time_of(row.integer(1)),
                    .end = time_of(row.integer(2)),
                    .store = std::move(store),
                    .layout = Layout::parse(row.text(6))};
  if (lease.begin >= lease.end)
    throw Error(ErrorCode::unavailable, "the store leased no time", "try again"_hint);
  return lease;
}

/// Throws Error (unavailable) if another layout holds in the store that leased than in the one asked before.
void require_unchanged(const Layout& asked, const Layout& leased) {
  if (asked == leased) return;
  throw Error(ErrorCode::unavailable,
              "the store's layout was changed meanwhile, or its name came to lead to another store",
              "try again"_hint);
}

std::optional<UnixTime> time_in(const Row& row, std::size_t column) {
  const auto ms = row.integer_or_null(column);
  return ms ? std::optional(time_of(*ms)) : std::nullopt;
}

SeenClocks clocks_of(const Row& row) {
  return {time_of(row.integer(0)), time_in(row, 1), time_in(row, 2)};
}

}  // namespace

bool is_owner_name(std::string_view name) noexcept {
  constexpr std::size_t longest = 255;
  return !name.empty() && name.size() <= longest &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
}

std::vector<Row> Store::Impl::lease(const char* store::Sql::*statement, const std::vector<Value>& parameters,
                                    StoreIdentity& store, int& sent) {
  sent = 0;
  auto granted = grant(
      statement, 4,
      [&](const std::string&) {
        ++sent;
        return parameters;
      },
      [](store::Connection&, milliseconds) {});
  if (!granted) return {};
  store = std::move(granted->second);
  return {std::move(granted->first)};
}

void require_expected_layout(const WorkerRequest& request, const Layout& layout) {
  if (!request.layout || *request.layout == layout) return;
  throw Error(
      ErrorCode::usage,
      fmt::format("the store's layout is '{}', but this host expects '{}'", layout.name(),
                  request.layout->name()),
      advice("name the right store or the right layout{}"_hint, Remedy{Remedy::Kind::check_settings}));
}

WorkerLease Store::acquire_worker(const WorkerRequest& request) {
  return acquire(request, /*waits=*/false);
}

WorkerLease Store::await_worker(const WorkerRequest& request) {
  return acquire(request, /*waits=*/true);
}

WorkerLease Store::acquire(const WorkerRequest& request, bool waits) {
  const Impl::OneTimeout one_timeout(*impl_);
  const WorkerPool pool = store::pool_of(impl_->execute(&store::Sql::layout, {}));
  const Layout& layout = pool.layout;
  require_expected_layout(request, layout);
  require_valid(request, pool);
  impl_->require_known_layout(pool.deployment, layout);
  const auto check_lease_time = [&] {
    const auto found = impl_->execute(&store::Sql::leases_from, {});
    const UnixTime now = host_time(impl_->clock());
    if (const auto from = store::wait_for_leases(found, now)) throw store::no_lease_before(*from, now);
  };
  check_lease_time();
  std::string token = store::new_uuid();
  StoreIdentity store;
  LeaseClocks clocks(request, request.not_before, layout, impl_->clock());
  const auto give_up_others = [&](std::int64_t kept) {
    const Impl::OneMoreAttempt to_give_up(*impl_);
    try {
      impl_->execute(&store::Sql::give_up_others,
                     {request.owner, token, kept, std::int64_t{request.window.count()}});
    } catch (const Error&) {
      // They are free when their windows are over.
    }
  };
  const auto claim = [&](const char* store::Sql::*statement, std::int64_t worker, bool with_silence) {
    for (;;) {
      clocks.ask();
      std::vector<Value> parameters{request.owner,
                                    token,
                                    request.window.count(),
                                    unix_ms(request.not_before),
                                    unix_ms(clocks.asked()),
                                    worker,
                                    unix_ms(clocks.earliest_store()),
                                    unix_ms(clocks.latest()),
                                    unix_ms(clocks.latest_given_up()),
                                    unix_ms(clocks.first_begin()),
                                    unix_ms(clocks.last_begin())};
      if (with_silence) parameters.emplace_back(static_cast<std::int64_t>(request.recycle_after.count()));
      constexpr std::int64_t none = -1;
      int sent = 0;
      try {
        auto rows = impl_->lease(statement, parameters, store, sent);
        clocks.note_answer();
        if (sent > 1) give_up_others(rows.empty() ? none : rows[0].integer(0));
        if (sent <= 1 || !rows.empty()) return rows;
        // What an attempt before had leased may have been in the way. That it is given up may reach the store
        // late, and must not mean what is leased from now on.
        token = store::new_uuid();
      } catch (const Error& error) {
        if (error.retryable() && sent > 0) give_up_others(none);
        throw;
      }
    }
  };
  // True if what was claimed came too late for the clocks. Throws Error where they forbid a lease.
  const auto came_late = [&] {
    check_lease_time();  // another server may have come meanwhile
    return clocks.explain([&](UnixTime now) {
      return clocks_of(
          store::only_row(impl_->execute(&store::Sql::owner_clocks, {request.owner, unix_ms(now)})));
    });
  };
  const auto has_new = [&] {
    return store::only_row(
               impl_->execute(&store::Sql::has_new, {store::last_leasable(layout), unix_ms(clocks.asked())}))
               .integer(0) != 0;
  };

  // Looked at once: what is said of them must go with whether one was waited for, and a server rounds its
  // clock.
  const auto time_until_free = [&](const std::vector<Worker>& known) {
    return store::time_until_free(request, known, host_time(impl_->clock()));
  };
  const auto is_free = [](std::optional<milliseconds> left) { return left.value_or(1ms) <= 0ms; };
  // True once a worker may have become free, if one does so in time. One that is free already is locked by
  // who is about to lease or free it.
  const auto waited = [&](std::optional<milliseconds> left) {
    constexpr milliseconds until_it_is_done{10};
    if (!left || (!waits && !is_free(left))) return false;
    const milliseconds pause = std::max(*left, until_it_is_done);
    if (!impl_->has_time_for(pause)) return false;
    impl_->clock().sleep_for(pause);
    return true;
  };

  std::vector<Row> rows;
  std::int64_t new_left = pool.workers.size();
  while (rows.empty()) {
    if (request.worker) {
      rows = claim(&store::Sql::acquire_this, *request.worker, true);
      if (!rows.empty()) break;
      const std::vector<Worker> known = workers();
      store::require_not_ahead(request, known);
      const auto left = time_until_free(known);
      if (came_late() || waited(left)) continue;
      throw is_free(left) ? store::locked()
                          : store::not_free(*request.worker, known, host_time(impl_->clock()));
    }
    rows = claim(&store::Sql::acquire_held, store::last_leasable(layout), false);
    if (rows.empty()) rows = claim(&store::Sql::acquire_new, store::last_leasable(layout), false);
    // One that is pinned may lie in the way: the next number is asked for then.
    if (!rows.empty() || came_late() || (has_new() && new_left-- > 0)) continue;
    rows = claim(&store::Sql::acquire_silent, store::last_leasable(layout), true);
    if (!rows.empty() || came_late()) continue;
    const std::vector<Worker> known = workers();
    const auto left = time_until_free(known);
    if (waited(left)) continue;
    throw is_free(left) ? store::locked() : store::all_taken(pool, known);
  }
  WorkerLease lease = lease_of(rows[0], token, store);
  lease.asked = clocks.asked();
  try {
    const auto spare = spare_of(*this, impl_->marks(), lease.store.deployment);
    impl_->require_above_mark(lease, spare);
    require_unchanged(layout, *lease.layout);
    // A worker that is leased fixes the layout; until then it may have been chosen anew.
    require_unchanged(layout, this->layout());
    impl_->require_known_layout(lease.store.deployment, layout);
    impl_->claim_window(lease, spare);
  } catch (const Error&) {
    const Impl::OneMoreAttempt to_give_up(*impl_);
    try {
      impl_->execute(&store::Sql::give_up,
                     {lease.worker, lease.token, unix_ms(lease.begin), std::int64_t{0}});
    } catch (const Error&) {
      // The worker is free when its window is over.
    }
    throw;
  }
  return lease;
}

void Store::check_lease(WorkerRequest request, bool has_lease) {
  const Impl::OneTimeout one_timeout(*impl_);
  const WorkerPool pool = store::pool_of(impl_->execute(&store::Sql::layout, {}));
  if (!has_lease) {
    require_expected_layout(request, pool.layout);
    request = store::with_whole_unit(std::move(request), pool.layout);
    require_valid(request, pool);
    impl_->require_known_layout(pool.deployment, pool.layout);
  }
  const auto begin_of = [&](std::int64_t worker, const std::vector<Worker>& known) {
    const auto found = std::ranges::find(known, worker, &Worker::id);
    const UnixTime now = host_time(impl_->clock());
    return found == known.end() ? now : std::max(now, found->window_end);
  };
  const std::vector<Worker> known = workers();
  const milliseconds lead = store::lead_of(request, pool.layout);
  const UnixTime now = host_time(impl_->clock());
  const auto worker = store::next_worker(request, known, pool.workers, now, lead);
  if (!has_lease && request.worker && !store::is_free(request, known, now, lead)) {
    store::require_not_ahead(request, known);
    throw store::not_free(*request.worker, known, now);
  }
  if (!has_lease && !worker) throw store::all_taken(pool, known);
  if (!worker) return;
  const UnixTime mark = time_of(impl_->marks().highest(pool.deployment, mark_of(*worker)));
  // Somebody may have been leased it since the store was asked.
  if (mark <= begin_of(*worker, known) || mark <= begin_of(*worker, workers())) return;
  throw impl_->leased_before(*worker, mark, spare_of(*this, impl_->marks(), pool.deployment));
}

WorkerLease Store::renew_worker(const WorkerLease& lease, const WorkerRequest& request) {
  const Impl::OneTimeout one_timeout(*impl_);
  const UnixTime begin = std::max(lease.end, request.not_before);
  const Layout layout = this->layout();
  LeaseClocks clocks(request, begin, layout, impl_->clock());
  for (;;) {
    clocks.ask();
    StoreIdentity store;
    int sent = 0;  // however often: each time leases the same
    const auto rows = impl_->lease(
        &store::Sql::renew,
        {lease.worker, lease.token, unix_ms(begin), static_cast<std::int64_t>(request.window.count()),
         unix_ms(clocks.asked()), unix_ms(clocks.earliest_store()), unix_ms(clocks.latest()),
         unix_ms(clocks.last_begin())},
        store, sent);
    clocks.note_answer();
    if (!rows.empty()) {
      WorkerLease next = lease_of(rows[0], lease.token, store);
      next.asked = clocks.asked();
      // A copy has the same tokens in its rows. What it leases, the store that the lease is from leases
      // again.
      if (!lease.store.deployment.empty() && next.store != lease.store) {
        throw Error(
            ErrorCode::unavailable,
            fmt::format("the store's name came to lead to another copy of it while worker {} was renewed",
                        lease.worker),
            "try again"_hint);
      }
      require_unchanged(layout, *next.layout);
      impl_->require_known_layout(next.store.deployment, layout);
      const auto spare = spare_of(*this, impl_->marks(), next.store.deployment);
      impl_->require_above_mark(next, spare);
      impl_->claim_window(next, spare);
      return next;
    }
    const Error lost{ErrorCode::not_found,
                     fmt::format("worker {} was recycled and is held no longer", lease.worker)};
    std::optional<UnixTime> renewable_from;
    const bool came_late = clocks.explain([&](UnixTime now) {
      const auto seen = impl_->execute(&store::Sql::lease_clocks, {lease.worker, lease.token, unix_ms(now)});
      if (seen.empty()) throw lost;
      renewable_from = time_in(seen[0], 3);
      return clocks_of(seen[0]);
    });
    if (came_late) continue;
    // Once the worker has been another's since, it is held from behind this lease on.
    if (renewable_from && *renewable_from < lease.end) {
      throw Error(ErrorCode::unavailable,
                  fmt::format("worker {} was leased from {} on, and is not renewed before", lease.worker,
                              to_rfc3339(*renewable_from)),
                  "wait until then; or set the clocks right, if one is behind"_hint);
    }
    throw lost;  // or may be, where another server has come
  }
}

}  // namespace leaf
