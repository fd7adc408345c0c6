#include "store/guard.hpp"

#include <fmt/format.h>

#include <limits>

#include "leaf/store.hpp"
#include "store/store_impl.hpp"
#include "store/unix_time.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

void require_server(const store::Connection& connection) {
  if (connection.sql().set_guard_steps != nullptr) return;
  throw Error(ErrorCode::usage, "a SQLite store cannot fail over",
              "this command is for stores in PostgreSQL"_hint);
}

void require_steps(std::int64_t steps) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (steps < 0 || steps > most)
    throw Error(ErrorCode::usage, fmt::format("a guard of {} steps is not between 0 and {}", steps, most));
}

std::optional<Range> range_of(const store::Row& row, std::size_t first) {
  const auto from = row.integer_or_null(first), to = row.integer_or_null(first + 1);
  if (!from || !to || *from >= *to) return std::nullopt;
  return Range{*from, *to};
}

}  // namespace

void store::set_guard_steps(Connection& connection, std::int64_t steps, const Transaction& transaction) {
  require_steps(steps);
  require_server(connection);
  const Value value = steps;
  connection.execute(connection.sql().set_guard_steps, {&value, 1}, transaction.time_left());
}

std::optional<std::int64_t> Store::guard_steps() {
  const auto rows = impl_->execute(&store::Sql::guard_steps, {});
  return rows.empty() ? std::nullopt : std::optional(rows[0].integer(0));
}

void Store::require_guard_steps(std::int64_t steps) {
  require_steps(steps);
  impl_->attempt(
      store::IfMissing::assume_empty, false,
      [](store::Connection& connection, std::chrono::milliseconds) { require_server(connection); });
}

void Store::set_guard_steps(std::int64_t steps) {
  require_guard_steps(steps);
  impl_->as_owner([&] { return impl_->execute(&store::Sql::set_guard_steps, {steps}); });
}

Failover Store::failover() {
  return impl_->attempt(
      store::IfMissing::fail, true, [](store::Connection& connection, store::TimeLeft left) {
        require_server(connection);
        const auto rows = connection.execute(connection.sql().failover, {}, left);
        if (rows.empty()) throw store::lost_meta_row();
        Failover found{.server = rows[0].text(0), .tags = {}};
        if (found.server.empty()) return found;
        const UnixTime from = store::time_of(rows[0].integer(2));
        const bool is_noticed = rows[0].integer(1) == 1;
        found.leases_wait = !is_noticed || from > store::time_of(rows[0].integer(3));
        if (is_noticed && found.leases_wait) found.leases_from = from;
        const store::Value server = found.server;
        for (const store::Row& row : connection.execute(connection.sql().failover_tags, {&server, 1}, left)) {
          const bool waits = row.integer(1) == 1;
          found.tags.push_back({.name = row.text(0),
                                .state = waits ? FailoverTag::State::waiting : FailoverTag::State::left_out,
                                .granted_by = waits ? row.text(2) : "",
                                .left_out = waits ? std::nullopt : range_of(row, 3),
                                .is_removed = row.integer(5) == 1});
        }
        return found;
      });
}

std::vector<FailoverTag> Store::settle_failover(const Failover& seen, Commits commits) {
  using State = FailoverTag::State;
  if (seen.server.empty()) {
    throw Error(ErrorCode::refused,
                "the database does not tell which server it is: no failover is noticed, and none is settled",
                "after a failover or restore, raise each tag, and wait until all windows are over"_hint);
  }
  return impl_->administer([&](store::Connection& connection, store::TimeLeft left) {
    require_server(connection);
    const bool nothing_lost = commits != Commits::may_be_lost;
    const bool by_any = commits == Commits::all_there_on_every_server;
    const store::Value parameters[] = {seen.server, std::int64_t{nothing_lost}, std::int64_t{by_any}};
    std::vector<FailoverTag> settled;
    for (const store::Row& row : connection.execute(connection.sql().settle_failover, parameters, left)) {
      FailoverTag tag{.name = row.text(0), .left_out = range_of(row, 2)};
      tag.state = row.integer(1) == 0 ? State::no_room : tag.left_out ? State::left_out : State::kept;
      settled.push_back(std::move(tag));
    }
    return settled;
  });
}

}  // namespace leaf
