#include <fmt/format.h>

#include <algorithm>

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
using store::unix_ms;
using store::Value;

Error not_held(std::int64_t number) {
  return {ErrorCode::not_found, fmt::format("worker {} is not held", number),
          advice("see which are held{}"_hint, Remedy{Remedy::Kind::list_workers})};
}

/// The one of `workers` that has this number. Throws Error (not_found) if it is not held.
Worker held_worker(const std::vector<Worker>& workers, std::int64_t number) {
  for (const Worker& worker : workers) {
    if (worker.id == number && !worker.owner.empty()) return worker;
  }
  throw not_held(number);
}

std::vector<std::int64_t> numbers_of(const std::vector<Row>& rows) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(rows.size());
  for (const Row& row : rows) numbers.push_back(row.integer(0));
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

std::vector<Worker> Store::workers() {
  std::vector<Worker> workers;
  for (const Row& row : impl_->execute(&store::Sql::workers, {unix_ms(host_time(impl_->clock()))})) {
    workers.push_back({.id = row.integer(0),
                       .owner = row.text(1),
                       .leased = row.integer(2) == 1,
                       .window_end = time_of(row.integer(3)),
                       .renewed_at = time_of(row.integer(4)),
                       .clock_offset = milliseconds(row.integer(5)),
                       .silent_for = milliseconds(row.integer(6)),
                       .in_range = row.integer(7) == 1});
  }
  return workers;
}

void Store::recycle_worker(std::int64_t worker, bool force) {
  const auto rows = impl_->execute(
      &store::Sql::recycle, {worker, unix_ms(host_time(impl_->clock())), static_cast<std::int64_t>(force)});
  if (!rows.empty()) return;
  const bool may_be_done = impl_->retried();
  const std::vector<Worker> known = workers();
  const bool is_free = std::any_of(known.begin(), known.end(),
                                   [&](const Worker& one) { return one.id == worker && one.owner.empty(); });
  if (may_be_done && is_free) return;
  if (force) throw not_held(worker);  // whoever holds it now has come since
  const Worker held = held_worker(known, worker);
  throw Error(
      ErrorCode::refused,
      fmt::format("worker {} is held by '{}' until {}", worker, held.owner, to_rfc3339(held.window_end)),
      advice("wait until then, or free it now{}. No ID can repeat: the holder will take another worker"_hint,
             Remedy{.kind = Remedy::Kind::force_recycling, .number = worker}));
}

std::vector<std::int64_t> Store::release_workers(const std::string& owner,
                                                 std::optional<std::int64_t> worker) {
  auto released =
      numbers_of(impl_->execute(&store::Sql::release, {owner, worker ? Value(*worker) : Value()}));
  if (!released.empty() || !worker) return released;
  const Worker held = held_worker(workers(), *worker);
  throw Error(ErrorCode::refused,
              fmt::format("worker {} is held by '{}', not '{}'", *worker, held.owner, owner),
              advice("free it{} when its window is over"_hint,
                     Remedy{.kind = Remedy::Kind::recycle_worker, .number = *worker}));
}

std::vector<std::int64_t> Store::recycle_silent_workers(milliseconds recycle_after) {
  return numbers_of(
      impl_->execute(&store::Sql::recycle_silent,
                     {unix_ms(host_time(impl_->clock())), static_cast<std::int64_t>(recycle_after.count())}));
}

bool Store::Impl::give_up(const WorkerLease& lease, UnixTime used_until, bool frees) {
  used_until = std::max(used_until, lease.begin);  // what lies before that was others'
  const std::string& deployment = lease.store.deployment;
  const std::string subject = mark_of(lease.worker);
  const MarkHolder holder = holder_of(lease.token);
  const auto known = deployment.empty() ? GrantMarks::Mark() : marks_->mark(deployment, subject);
  const bool is_own = known.end > 0 && known.holder == holder;
  // First: another process of this host may get what is given up at once.
  if (is_own) marks_->lower(deployment, subject, unix_ms(used_until), holder);
  if (!execute(&store::Sql::give_up,
               {lease.worker, lease.token, unix_ms(used_until), static_cast<std::int64_t>(frees)})
           .empty())
    return true;
  // It is another holder's now, unless an attempt whose reply was lost has given it up.
  if (is_own && !retried())
    static_cast<void>(claim(lease.store, subject, {unix_ms(used_until), known.end}, holder));
  return false;
}

bool Store::give_up_worker(const WorkerLease& lease, UnixTime used_until) {
  return impl_->give_up(lease, used_until, false);
}

bool Store::release_worker(const WorkerLease& lease, UnixTime used_until) {
  return impl_->give_up(lease, used_until, true);
}

}  // namespace leaf
