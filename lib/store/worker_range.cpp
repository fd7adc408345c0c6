#include "store/worker_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "layout/layout_text.hpp"
#include "leaf/store.hpp"
#include "store/store_impl.hpp"
#include "store/unix_time.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

using std::chrono::milliseconds;
using store::host_time;
using store::Row;
using store::time_of;
using store::Value;
using store::WorkerPool;

void require_leasable(const Layout& layout) {
  if (layout.max_sequence() < std::int64_t{1} << 30) return;
  throw Error(ErrorCode::usage,
              fmt::format("layout '{}' has more than 30 bits of sequence: no time can be leased in it",
                          layout.name()));
}

void require_within(const WorkerRange& range, const Layout& layout) {
  if (range.first >= 0 && range.first <= range.last && range.last <= store::last_leasable(layout)) return;
  throw Error(ErrorCode::usage,
              fmt::format("{} to {} are not workers of layout '{}'", range.first, range.last, layout.name()),
              fmt::format("it has workers from 0 to {}"_hint, store::last_leasable(layout)));
}

Error other_layout(const Layout& present, const Layout& wanted) {
  return {ErrorCode::usage,
          fmt::format("the store's layout is '{}', not '{}', and IDs were made with it", present.name(),
                      wanted.name()),
          "a deployment keeps its layout; make another store for another layout"_hint};
}

Error no_change_before(UnixTime from) {
  const std::string time = to_rfc3339(from);
  return {
      ErrorCode::unavailable,
      fmt::format("neither the layout nor the range of workers can change before {}: after a failover or "
                  "restore the store may lack leases that are still in use",
                  time),
      advice("try again at {}; if no commit was lost and no backup restored, saying so{} ends the wait"_hint,
             time, Remedy{Remedy::Kind::settle_failover})};
}

/// What becomes of a pool.
struct PoolChange {
  const WorkerPool& before;
  const Layout& layout;
  const WorkerRange& workers;
  bool is_all;  ///< of the layout
};

/// False if somebody is in the way: the layout was changed meanwhile, or a worker is leased.
bool change(store::Connection& connection, const PoolChange& pool, UnixTime host_now,
            const store::Transaction& transaction) {
  const auto is_set = [&](const char* statement, const std::vector<Value>& parameters) {
    return !connection.execute(statement, parameters, transaction.time_left()).empty();
  };
  const auto is_layout_set = [&] {
    return pool.layout == pool.before.layout ||
           is_set(connection.sql().set_layout, {pool.layout.text(), pool.layout.max_worker()});
  };
  const auto are_workers_set = [&](const Layout& present) {
    return is_set(connection.sql().set_workers,
                  {pool.workers.first, pool.is_all ? Value() : Value(pool.workers.last), present.text(),
                   store::unix_ms(host_now)});
  };
  // Each has to fit the other at any time, and a smaller layout only fits the new workers.
  return pool.layout.max_worker() < pool.before.layout.max_worker()
             ? are_workers_set(pool.before.layout) && is_layout_set()
             : is_layout_set() && are_workers_set(pool.layout);
}

/// Throws Error (refused) while one of `workers` outside of `range` may be in use.
void require_none_leased_outside(const WorkerRange& range, const std::vector<Worker>& workers) {
  constexpr int most_named = 8;
  int found = 0;
  std::string named;
  UnixTime last{};
  for (const Worker& worker : workers) {
    if (range.holds(worker.id) || worker.window_end <= worker.renewed_at + worker.silent_for) continue;
    last = std::max(last, worker.window_end);
    if (++found > most_named) continue;
    named += fmt::format("{}{} {} until {}", named.empty() ? "" : ", ", worker.id,
                         worker.owner.empty() ? "(free)" : fmt::format("('{}')", worker.owner),
                         to_rfc3339(worker.window_end));
  }
  if (found == 0) return;
  if (found > most_named) named += fmt::format(", {} more", found - most_named);
  throw Error(ErrorCode::refused,
              fmt::format("workers outside of {} to {} are leased: {}", range.first, range.last, named),
              fmt::format("stop what uses them, and try again at {}, when their windows are over"_hint,
                          to_rfc3339(last)));
}

}  // namespace

std::int64_t store::last_leasable(const Layout& layout) {
  constexpr std::int64_t last = INT32_MAX;  // what a table of PostgreSQL and a host's buffer hold
  return std::min(layout.max_worker(), last);
}

void store::require_pool(const Layout& layout, const std::optional<WorkerRange>& range) {
  require_leasable(layout);
  if (range) require_within(*range, layout);
}

void store::set_first_pool(Connection& connection, const std::optional<Layout>& layout,
                           const std::optional<WorkerRange>& range, UnixTime host_now,
                           const Transaction& transaction) {
  if (!layout && !range) return;
  const WorkerPool before = pool_of(connection.execute(connection.sql().layout, {}, transaction.time_left()));
  const Layout after = layout.value_or(before.layout);
  require_pool(after, range);
  const WorkerRange workers = range.value_or(WorkerRange{0, last_leasable(after)});
  if (!change(connection, {before, after, workers, !range}, host_now, transaction))
    throw other_layout(before.layout, after);
}

WorkerPool store::pool_of(const std::vector<Row>& found) {
  if (found.empty()) throw lost_meta_row();
  const Layout layout = Layout::parse(found[0].text(0));
  const std::int64_t first = found[0].integer(1);
  const auto last = found[0].integer_or_null(2);
  return {.layout = layout,
          .workers = {.first = first, .last = last.value_or(last_leasable(layout))},
          .is_all = first == 0 && !last,
          .is_fixed = found[0].integer(3) == 1,
          .deployment = found[0].text(4)};
}

std::optional<UnixTime> store::wait_for_leases(const std::vector<Row>& found, UnixTime host_now) {
  if (found.empty()) return std::nullopt;
  const UnixTime from = time_of(found[0].integer(0));
  const UnixTime store_now = time_of(found[0].integer(1));
  return from <= std::min(store_now, host_now) ? std::nullopt : std::optional(from);
}

Layout Store::layout() {
  return store::pool_of(impl_->execute(&store::Sql::layout, {})).layout;
}

void Store::check_layout() {
  const WorkerPool pool = store::pool_of(impl_->execute(&store::Sql::layout, {}));
  impl_->require_known_layout(pool.deployment, pool.layout);
}

WorkerRange Store::worker_range() {
  return store::pool_of(impl_->execute(&store::Sql::layout, {})).workers;
}

void Store::Impl::require_no_lease_lost(const Layout& layout) {
  const UnixTime now = host_time(clock());
  if (const auto from = store::wait_for_leases(execute(&store::Sql::leases_from, {}), now))
    throw no_change_before(*from);
  require_known_layout(deployment(), layout);
}

void Store::set_layout(const Layout& layout) {
  require_leasable(layout);
  const Impl::OneTimeout one_timeout(*impl_);
  const WorkerPool before = store::pool_of(impl_->execute(&store::Sql::layout, {}));
  if (before.layout != layout && !before.is_fixed) impl_->require_no_lease_lost(layout);
  const auto set = impl_->as_owner([&] {
    return impl_->execute(&store::Sql::set_layout, {layout.text(), layout.max_worker()});
  });
  if (!set.empty()) return;
  const WorkerPool pool = store::pool_of(impl_->execute(&store::Sql::layout, {}));
  if (pool.is_all || pool.workers.last <= layout.max_worker()) throw other_layout(pool.layout, layout);
  throw Error(ErrorCode::usage,
              fmt::format("the store leases workers {} to {}, and layout '{}' ends with {}",
                          pool.workers.first, pool.workers.last, layout.name(), layout.max_worker()),
              advice("choose others{}"_hint, Remedy{Remedy::Kind::choose_worker_range}));
}

void Store::set_layout(const Layout& layout, const std::optional<WorkerRange>& workers) {
  require_leasable(layout);
  set_pool(layout, workers);
}

void Store::set_worker_range(const std::optional<WorkerRange>& range) {
  set_pool(std::nullopt, range);
}

void Store::set_pool(const std::optional<Layout>& layout, const std::optional<WorkerRange>& range) {
  const Impl::OneTimeout one_timeout(*impl_);
  constexpr int most_attempts = 10;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const WorkerPool before = store::pool_of(impl_->execute(&store::Sql::layout, {}));
    const Layout after = layout.value_or(before.layout);
    const bool has_layout = after == before.layout;
    if (!has_layout && before.is_fixed) throw other_layout(before.layout, after);
    const WorkerRange wanted = range.value_or(WorkerRange{0, store::last_leasable(after)});
    require_within(wanted, after);
    // Whoever divides the workers between stores relies on it that none outside is in use.
    if (!has_layout || range) impl_->require_no_lease_lost(after);
    if (has_layout && before.workers == wanted && before.is_all == !range) {
      impl_->execute(&store::Sql::confirm, {});
      return;
    }
    const UnixTime now = host_time(impl_->clock());
    if (!wanted.holds(before.workers)) {
      require_none_leased_outside(wanted, workers());
    }
    const auto set_both = [&](store::Connection& connection, store::TimeLeft left) {
      store::Transaction transaction(connection, left);
      const bool done = change(connection, {before, after, wanted, !range}, now, transaction);
      if (done) transaction.commit();
      return done;
    };
    if (impl_->administer(set_both)) return;
    // The layout was changed meanwhile, or a worker was leased.
  }
  throw Error(ErrorCode::unavailable, "the store's workers are leased while their range is set",
              "try again"_hint);
}

}  // namespace leaf
