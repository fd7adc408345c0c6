#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

#include "leaf/store.hpp"
#include "snowflake/layout_text.hpp"
#include "store/expected_layout.hpp"
#include "store/store_impl.hpp"

namespace leaf {

namespace {

using std::chrono::milliseconds;
using store::Row;
using store::Value;

constexpr std::size_t max_owner = 255;

std::int64_t unix_ms(UnixTime time) {
  return time.time_since_epoch().count();
}

UnixTime time_of(std::int64_t unix_ms) {
  return UnixTime(milliseconds(unix_ms));
}

UnixTime host_time(Clock& clock) {
  return std::chrono::floor<milliseconds>(clock.now());
}

/// 122 random bits: no two holders ever have the same.
std::string new_token() {
  std::array<std::uint8_t, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(ErrorCode::failed, "the system has no random numbers");
  }
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3F) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

void require_valid(const WorkerRequest& request, const Layout& layout) {
  if (request.owner.empty() || request.owner.size() > max_owner ||
      !std::all_of(request.owner.begin(), request.owner.end(), [](char c) { return c > ' ' && c <= '~'; })) {
    throw Error(ErrorCode::usage,
                "the name of a worker's owner is not 1 to 255 printable characters without spaces",
                "choose one with --worker-name");
  }
  if (request.worker) layout.worker_bits(*request.worker);  // throws if it is out of bounds
  if (request.window < layout.unit()) {
    throw Error(ErrorCode::usage,
                fmt::format("a window of {} is shorter than the layout's unit", request.window));
  }
  if (request.max_skew < milliseconds::zero() || request.recycle_after < milliseconds::zero()) {
    throw Error(ErrorCode::usage, "a duration is below zero");
  }
}

/// The clocks at a grant: when the host asked and was answered, the store's in between, its latest grant
/// before.
struct Clocks {
  UnixTime asked;
  UnixTime answered;
  UnixTime store;
  UnixTime latest_grant;
};

void require_trusted(const Clocks& clocks, milliseconds max_skew) {
  constexpr const char* hint = "set the clocks right; --max-skew allows more";
  if (clocks.answered < clocks.store - max_skew) {
    throw Error(ErrorCode::refused,
                fmt::format("this host's clock is {} behind the store's", clocks.store - clocks.answered),
                hint);
  }
  if (clocks.asked > clocks.store + max_skew) {
    throw Error(ErrorCode::refused,
                fmt::format("this host's clock is {} ahead of the store's", clocks.asked - clocks.store),
                hint);
  }
  if (clocks.store < clocks.latest_grant - max_skew) {
    throw Error(ErrorCode::refused,
                fmt::format("the clock is {} behind an earlier grant", clocks.latest_grant - clocks.store),
                "set the clock right; if it is right now, --max-skew with another --worker-name goes on");
  }
}

WorkerLease lease_of(const Row& row, std::string token, StoreIdentity store) {
  store::require_durable(row, 5);
  WorkerLease lease{.worker = row.integer(0),
                    .token = std::move(token),
                    .begin = time_of(row.integer(1)),
                    .end = time_of(row.integer(2)),
                    .store = std::move(store)};
  if (lease.begin >= lease.end) throw Error(ErrorCode::failed, "the store leased no time");
  return lease;
}

Clocks clocks_of(const Row& row, UnixTime asked, UnixTime answered) {
  return {asked, answered, time_of(row.integer(3)), time_of(row.integer_or_null(4).value_or(0))};
}

/// Throws Error (unavailable) after another server took the place of the one that leased last, until every
/// window is over that it may know nothing of. `found` is what Sql::leases_from gave.
void require_lease_time(const std::vector<Row>& found, UnixTime host_now) {
  if (found.empty()) return;
  const UnixTime from = time_of(found[0].integer(0));
  if (from <= std::min(time_of(found[0].integer(1)), host_now)) return;
  throw Error(
      ErrorCode::unavailable,
      fmt::format("the database's server is another one than before: no worker is leased until {}, when "
                  "all windows are over that it may know nothing of",
                  to_rfc3339(from)),
      "wait until then; hosts whose window is not over go on");
}

Error all_taken(const Layout& layout) {
  return {ErrorCode::exhausted, fmt::format("all {} workers are taken", layout.max_worker() + 1),
          "free silent ones with 'leafctl workers recycle', or look at 'leafctl workers list'"};
}

Error not_free(std::int64_t worker) {
  return {ErrorCode::refused, fmt::format("worker {} is held by another, or its window is not over", worker),
          "see 'leafctl workers list'; 'leafctl workers recycle' frees it"};
}

/// The one of `workers` that has this number. Throws Error (not_found) if it is not held.
Worker held_worker(const std::vector<Worker>& workers, std::int64_t number) {
  for (const Worker& worker : workers) {
    if (worker.id == number && !worker.owner.empty()) return worker;
  }
  throw Error(ErrorCode::not_found, fmt::format("worker {} is not held", number),
              "see 'leafctl workers list'");
}

std::vector<std::int64_t> numbers_of(const std::vector<Row>& rows) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(rows.size());
  for (const Row& row : rows) numbers.push_back(row.integer(0));
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

std::vector<Row> Store::Impl::lease(const char* store::Sql::*statement, const std::vector<Value>& parameters,
                                    StoreIdentity& store) {
  auto granted = grant(statement, 6, [&](const std::string&) { return parameters; });
  if (!granted) return {};
  store = std::move(granted->second);
  return {std::move(granted->first)};
}

void Store::Impl::require_above_mark(const WorkerLease& lease) {
  const UnixTime mark = time_of(marks_->highest(lease.store.deployment, mark_of(lease.worker)));
  if (lease.begin >= mark) return;
  throw Error(ErrorCode::refused,
              fmt::format("the store has leased worker {} up to {} before: it was put back to a backup, or an "
                          "old standby took over",
                          lease.worker, to_rfc3339(mark)),
              "try again when that time has passed");
}

void Store::Impl::raise_mark(const WorkerLease& lease) {
  marks_->raise(lease.store.deployment, mark_of(lease.worker), unix_ms(lease.end));
}

Layout Store::layout() {
  const auto rows = impl_->execute(&store::Sql::layout, {});
  if (rows.empty()) throw Error(ErrorCode::failed, "table 'leaf_meta' has lost its row");
  return Layout::parse(rows[0].text(0));
}

void Store::set_layout(const Layout& layout) {
  if (layout.max_sequence() >= std::int64_t{1} << 30) {
    throw Error(ErrorCode::usage,
                fmt::format("layout '{}' has more than 30 bits of sequence: no time can be leased in it",
                            layout.name()));
  }
  if (!impl_->execute(&store::Sql::set_layout, {layout.text()}).empty()) return;
  throw Error(ErrorCode::usage,
              fmt::format("the store's layout is '{}', not '{}', and IDs were made with it",
                          this->layout().name(), layout.name()),
              "a deployment keeps its layout; make another store for another layout");
}

std::vector<Worker> Store::workers() {
  std::vector<Worker> workers;
  for (const Row& row : impl_->execute(&store::Sql::workers, {unix_ms(host_time(impl_->clock()))})) {
    workers.push_back({.id = row.integer(0),
                       .owner = row.text(1),
                       .leased = row.integer(2) == 1,
                       .window_end = time_of(row.integer(3)),
                       .renewed_at = time_of(row.integer(4)),
                       .clock_offset = milliseconds(row.integer(5)),
                       .silent_for = milliseconds(row.integer(6))});
  }
  return workers;
}

void require_expected_layout(const WorkerRequest& request, const Layout& layout) {
  if (!request.layout || *request.layout == layout) return;
  throw Error(ErrorCode::usage,
              fmt::format("the store's layout is '{}', but this host expects '{}'", layout.name(),
                          request.layout->name()),
              "name the right store or the right layout; 'leafctl show-config' tells where both come from");
}

WorkerLease Store::acquire_worker(const WorkerRequest& request) {
  const Layout layout = this->layout();
  require_expected_layout(request, layout);
  require_valid(request, layout);
  const auto check_lease_time = [&] {
    const auto found = impl_->execute(&store::Sql::leases_from, {});
    require_lease_time(found, host_time(impl_->clock()));
  };
  check_lease_time();
  const std::string token = new_token();
  UnixTime asked;
  UnixTime answered;
  StoreIdentity store;
  const auto claim = [&](const char* store::Sql::*statement, std::int64_t worker, bool with_silence) {
    asked = host_time(impl_->clock());
    std::vector<Value> parameters{request.owner,  token, request.window.count(), unix_ms(request.not_before),
                                  unix_ms(asked), worker};
    if (with_silence) parameters.emplace_back(static_cast<std::int64_t>(request.recycle_after.count()));
    auto rows = impl_->lease(statement, parameters, store);
    answered = host_time(impl_->clock());
    return rows;
  };

  std::vector<Row> rows;
  if (request.worker) {
    rows = claim(&store::Sql::acquire_this, *request.worker, true);
    if (rows.empty()) {
      check_lease_time();  // another server may have come meanwhile
      throw not_free(*request.worker);
    }
  } else {
    rows = claim(&store::Sql::acquire_held, layout.max_worker(), false);
    while (rows.empty()) {
      rows = claim(&store::Sql::acquire_new, layout.max_worker(), false);
      // One that is pinned may lie in the way: the next number is asked for then.
      if (rows.empty() &&
          impl_->execute(&store::Sql::has_new, {layout.max_worker(), unix_ms(asked)}).at(0).integer(0) == 0)
        break;
    }
    if (rows.empty()) rows = claim(&store::Sql::acquire_silent, layout.max_worker(), true);
    if (rows.empty()) {
      check_lease_time();  // as above
      throw all_taken(layout);
    }
  }
  WorkerLease lease = lease_of(rows[0], token, store);
  try {
    impl_->require_above_mark(lease);
    require_trusted(clocks_of(rows[0], asked, answered), request.max_skew);
    // A worker that is leased fixes the layout; until then it may have been chosen anew.
    if (this->layout() != layout) {
      throw Error(ErrorCode::unavailable, "the store's layout was changed meanwhile", "try again");
    }
  } catch (const Error&) {
    try {
      give_up_worker(lease, lease.begin);
    } catch (const Error&) {
      // The worker is free when its window is over.
    }
    throw;
  }
  impl_->raise_mark(lease);
  return lease;
}

WorkerLease Store::renew_worker(const WorkerLease& lease, const WorkerRequest& request) {
  const UnixTime asked = host_time(impl_->clock());
  StoreIdentity store;
  const auto rows = impl_->lease(
      &store::Sql::renew,
      {lease.worker, lease.token, unix_ms(std::max(lease.end, request.not_before)),
       static_cast<std::int64_t>(request.window.count()), unix_ms(asked)},
      store);
  if (rows.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("worker {} was recycled and is held no longer", lease.worker));
  }
  require_trusted(clocks_of(rows[0], asked, host_time(impl_->clock())), request.max_skew);
  WorkerLease next = lease_of(rows[0], lease.token, store);
  impl_->raise_mark(next);
  return next;
}

bool Store::give_up_worker(const WorkerLease& lease, UnixTime used_until) {
  // First: another process of this host may get what is given up at once.
  if (!lease.store.deployment.empty())
    impl_->marks().lower(lease.store.deployment, mark_of(lease.worker), unix_ms(used_until));
  return !impl_->execute(&store::Sql::give_up, {lease.worker, lease.token, unix_ms(used_until)}).empty();
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
  const Worker held = held_worker(known, worker);
  throw Error(
      ErrorCode::refused,
      fmt::format("worker {} is held by '{}' until {}", worker, held.owner, to_rfc3339(held.window_end)),
      "wait until then, or use --force: no ID can repeat, its holder takes another worker");
}

std::vector<std::int64_t> Store::release_workers(const std::string& owner,
                                                 std::optional<std::int64_t> worker) {
  auto released =
      numbers_of(impl_->execute(&store::Sql::release, {owner, worker ? Value(*worker) : Value()}));
  if (!released.empty() || !worker) return released;
  const Worker held = held_worker(workers(), *worker);
  throw Error(ErrorCode::refused,
              fmt::format("worker {} is held by '{}', not '{}'", *worker, held.owner, owner),
              "'leafctl workers recycle' frees what others do not use any more");
}

std::vector<std::int64_t> Store::recycle_silent_workers(milliseconds recycle_after) {
  return numbers_of(
      impl_->execute(&store::Sql::recycle_silent,
                     {unix_ms(host_time(impl_->clock())), static_cast<std::int64_t>(recycle_after.count())}));
}

}  // namespace leaf
